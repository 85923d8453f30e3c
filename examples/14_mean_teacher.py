"""How do I train with few labels and a mean teacher, whose weights are a running average of the student's?"""

import keras
import numpy as np

import ramet

keras.utils.set_random_seed(0)
student = keras.Sequential(
    [keras.Input((2,)), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1, activation="sigmoid")]
)
student.compile(keras.optimizers.Adam(0.02), "binary_crossentropy")
teacher = ramet.clone(student, name="teacher")
teacher.trainable = False
expected = [np.array(weight) for weight in teacher.get_weights()]

random = np.random.default_rng(0)
points = random.normal(size=(512, 2)).astype("float32")
classes = (points[:, :1] > 0).astype("float32")
few = random.choice(512, size=16, replace=False)  # only these have labels

for _ in range(60):
    batch = points[random.integers(0, 512, size=64)]
    advice = np.asarray(teacher.predict_on_batch(batch))  # what the teacher says of points without a label
    noisy = batch + random.normal(scale=0.2, size=batch.shape).astype("float32")
    inputs, targets = np.concatenate([points[few], noisy]), np.concatenate([classes[few], advice])
    student.train_on_batch(inputs, targets)
    ramet.sync(student, teacher, tau=0.1)  # a tenth of the way, in place
    expected = [old + 0.1 * (new - old) for old, new in zip(expected, student.get_weights(), strict=True)]

right = [float(((np.asarray(one.predict_on_batch(points)) > 0.5) == classes).mean()) for one in (student, teacher)]
print(f"right answers with 16 labels: student {right[0]:.1%}, teacher {right[1]:.1%}")

for weight, by_hand in zip(teacher.get_weights(), expected, strict=True):
    np.testing.assert_allclose(weight, by_hand, rtol=1e-4, atol=1e-6)
assert right[1] > 0.8

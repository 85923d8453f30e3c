"""Everything in Keras that a safe model file may name. Made by `python tools/keras_names.py`; do not edit.

From Keras 3.3.3, 3.4.1, 3.5.0, 3.6.0, 3.7.0, 3.8.0, 3.9.2, 3.10.0, 3.11.3, 3.12.0, 3.12.4, 3.13.2, 3.14.1, 3.15.1, and tf_keras 2.21.0.
"""

from __future__ import annotations

CLASSES: dict[str, str] = {
    "keras": """
        DTypePolicy FloatDTypePolicy Function Initializer InputSpec Layer Loss Metric Model Operation Optimizer
        Quantizer Regularizer Sequential
    """,
    "keras.__internal__.layers": "BaseDenseAttention BaseRandomLayer",
    "keras.__internal__.losses": "LossFunctionWrapper",
    "keras._legacy.layers": "AlphaDropout RandomHeight RandomWidth ThresholdedReLU",
    "keras.constraints": """
        Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm max_norm min_max_norm non_neg
        radial_constraint unit_norm
    """,
    "keras.distillation": "Distiller FeatureDistillation LogitsDistillation",
    "keras.dtensor.experimental.optimizers": "Adadelta Adagrad Adam AdamW RMSprop SGD",
    "keras.dtype_policies": """
        AWQDTypePolicy DTypePolicyMap GPTQDTypePolicy Int4DTypePolicy QuantizedDTypePolicy
        QuantizedFloat8DTypePolicy
    """,
    "keras.experimental": "CosineDecay CosineDecayRestarts LinearModel SequenceFeatures WideDeepModel",
    "keras.initializers": """
        Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity IdentityInitializer Initializer LecunNormal
        LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform STFT TruncatedNormal
        VarianceScaling Zeros constant glorot_normal glorot_uniform he_normal he_uniform identity lecun_normal
        lecun_uniform ones orthogonal random_normal random_uniform truncated_normal variance_scaling zeros
    """,
    "keras.layers": """
        AbstractRNNCell Activation ActivityRegularization AdaptiveAveragePooling1D AdaptiveAveragePooling2D
        AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D AdaptiveMaxPooling3D Add
        AdditiveAttention AlphaDropout Attention AugMix AutoContrast Average AveragePooling1D AveragePooling2D
        AveragePooling3D AvgPool1D AvgPool2D AvgPool3D BatchNormalization Bidirectional CategoryEncoding CenterCrop
        Concatenate ContrastLimitedAdaptiveHistogramEqualization Conv1D Conv1DTranspose Conv2D Conv2DTranspose
        Conv3D Conv3DTranspose ConvLSTM1D ConvLSTM2D ConvLSTM3D Convolution1D Convolution1DTranspose Convolution2D
        Convolution2DTranspose Convolution3D Convolution3DTranspose Cropping1D Cropping2D Cropping3D CutMix Dense
        DenseFeatures DepthwiseConv1D DepthwiseConv2D Discretization Dot Dropout ELU EinsumDense Embedding
        Equalization Flatten FlaxLayer GRU GRUCell GaussianDropout GaussianNoise GlobalAveragePooling1D
        GlobalAveragePooling2D GlobalAveragePooling3D GlobalAvgPool1D GlobalAvgPool2D GlobalAvgPool3D
        GlobalMaxPool1D GlobalMaxPool2D GlobalMaxPool3D GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D
        GroupNormalization GroupQueryAttention HashedCrossing Hashing Identity InputLayer InputSpec IntegerLookup
        JaxLayer LSTM LSTMCell Lambda Layer LayerNormalization LeakyReLU LocallyConnected1D LocallyConnected2D
        Masking MaxNumBoundingBoxes MaxPool1D MaxPool2D MaxPool3D MaxPooling1D MaxPooling2D MaxPooling3D Maximum
        MelSpectrogram Minimum MixUp MultiHeadAttention Multiply Normalization PReLU Permute Pipeline
        RMSNormalization RNN RandAugment RandomBrightness RandomColorDegeneration RandomColorJitter RandomContrast
        RandomCrop RandomElasticTransform RandomErasing RandomFlip RandomGaussianBlur RandomGrayscale RandomHeight
        RandomHue RandomInvert RandomPerspective RandomPosterization RandomRotation RandomSaturation RandomSharpness
        RandomShear RandomTranslation RandomWidth RandomZoom ReLU RepeatVector Rescaling Reshape Resizing
        ReversibleEmbedding STFTSpectrogram SeparableConv1D SeparableConv2D SeparableConvolution1D
        SeparableConvolution2D SimpleRNN SimpleRNNCell Softmax Solarization SpatialDropout1D SpatialDropout2D
        SpatialDropout3D SpectralNormalization StackedRNNCells StringLookup Subtract TFSMLayer TextVectorization
        ThresholdedReLU TimeDistributed TorchModuleWrapper UnitNormalization UpSampling1D UpSampling2D UpSampling3D
        Wrapper ZeroPadding1D ZeroPadding2D ZeroPadding3D
    """,
    "keras.layers.experimental": "DynamicEmbedding DynamicLookup EinsumDense RandomFourierFeatures SyncBatchNormalization",
    "keras.layers.experimental.preprocessing": """
        CategoryEncoding CenterCrop Discretization HashedCrossing Hashing IntegerLookup Normalization
        PreprocessingLayer RandomContrast RandomCrop RandomFlip RandomHeight RandomRotation RandomTranslation
        RandomWidth RandomZoom Rescaling Resizing StringLookup TextVectorization
    """,
    "keras.losses": """
        BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy
        CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge Huber KLDivergence
        LogCosh Loss MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError
        Poisson SparseCategoricalCrossentropy SquaredHinge Tversky
    """,
    "keras.metrics": """
        AUC Accuracy BinaryAccuracy BinaryCrossentropy BinaryIoU CategoricalAccuracy CategoricalCrossentropy
        CategoricalHinge ConcordanceCorrelation CosineSimilarity F1Score FBetaScore FalseNegatives FalsePositives
        Hinge IoU KLDivergence LogCoshError Mean MeanAbsoluteError MeanAbsolutePercentageError MeanIoU
        MeanMetricWrapper MeanRelativeError MeanSquaredError MeanSquaredLogarithmicError MeanTensor Metric OneHotIoU
        OneHotMeanIoU PearsonCorrelation Poisson Precision PrecisionAtRecall R2Score Recall RecallAtPrecision
        RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy SparseCategoricalCrossentropy
        SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum TopKCategoricalAccuracy
        TrueNegatives TruePositives
    """,
    "keras.metrics.experimental": "PyMetric",
    "keras.mixed_precision": "Policy",
    "keras.models": "Model Sequential",
    "keras.models.experimental": "SharpnessAwareMinimization",
    "keras.optimizers": """
        Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer MultiOptimizer Muon Nadam
        Optimizer OptimizerMap RMSprop SGD ScheduleFreeAdamW
    """,
    "keras.optimizers.experimental": "Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Nadam Optimizer RMSprop SGD",
    "keras.optimizers.legacy": "Adadelta Adagrad Adam Adamax Ftrl Nadam Optimizer RMSprop SGD",
    "keras.optimizers.schedules": """
        CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay LearningRateSchedule
        PiecewiseConstantDecay PolynomialDecay
    """,
    "keras.quantizers": """
        AWQConfig AbsMaxQuantizer Float8QuantizationConfig GPTQConfig Int4QuantizationConfig Int8QuantizationConfig
        QuantizationConfig
    """,
    "keras.random": "SeedGenerator",
    "keras.regularizers": "L1 L1L2 L2 OrthogonalRegularizer Regularizer l1 l2 orthogonal_regularizer",
    "keras.src.activations.activations": "Mish ReLU",
    "keras.src.applications.convnext": "LayerScale StochasticDepth",
    "keras.src.applications.inception_resnet_v2": "CustomScaleLayer",
    "keras.src.backend.jax.optimizer": "JaxOptimizer",
    "keras.src.backend.tensorflow.optimizer": "TFOptimizer",
    "keras.src.backend.torch.optimizers.torch_adadelta": "Adadelta",
    "keras.src.backend.torch.optimizers.torch_adagrad": "Adagrad",
    "keras.src.backend.torch.optimizers.torch_adam": "Adam",
    "keras.src.backend.torch.optimizers.torch_adamax": "Adamax",
    "keras.src.backend.torch.optimizers.torch_adamw": "AdamW",
    "keras.src.backend.torch.optimizers.torch_lion": "Lion",
    "keras.src.backend.torch.optimizers.torch_nadam": "Nadam",
    "keras.src.backend.torch.optimizers.torch_optimizer": "TorchOptimizer",
    "keras.src.backend.torch.optimizers.torch_parallel_optimizer": "TorchParallelOptimizer",
    "keras.src.backend.torch.optimizers.torch_rmsprop": "RMSprop",
    "keras.src.backend.torch.optimizers.torch_sgd": "SGD",
    "keras.src.constraints": "Constraint MaxNorm MinMaxNorm NonNeg RadialConstraint UnitNorm",
    "keras.src.constraints.constraints": "Constraint MaxNorm MinMaxNorm NonNeg UnitNorm",
    "keras.src.distillation.distillation_loss": "FeatureDistillation LogitsDistillation",
    "keras.src.distillation.distiller": "Distiller",
    "keras.src.distribute.simple_models": "_SimpleModel",
    "keras.src.dtype_policies.dtype_policy": """
        AWQDTypePolicy DTypePolicy FloatDTypePolicy GPTQDTypePolicy Int4DTypePolicy QuantizedDTypePolicy
        QuantizedFloat8DTypePolicy
    """,
    "keras.src.dtype_policies.dtype_policy_map": "DTypePolicyMap",
    "keras.src.engine.base_layer": "AddLoss AddMetric BaseRandomLayer Layer TensorFlowOpLayer",
    "keras.src.engine.base_layer_v1": "Layer",
    "keras.src.engine.base_preprocessing_layer": "PreprocessingLayer",
    "keras.src.engine.compile_utils": "LossesContainer",
    "keras.src.engine.functional": "Functional",
    "keras.src.engine.input_layer": "InputLayer",
    "keras.src.engine.input_spec": "InputSpec",
    "keras.src.engine.sequential": "Sequential",
    "keras.src.engine.training": "Model",
    "keras.src.engine.training_v1": "DistributedCallbackModel Model",
    "keras.src.feature_column.base_feature_layer": "_BaseFeaturesLayer",
    "keras.src.feature_column.dense_features": "DenseFeatures",
    "keras.src.feature_column.dense_features_v2": "DenseFeatures",
    "keras.src.feature_column.sequence_feature_column": "SequenceFeatures",
    "keras.src.initializers.constant_initializers": "Constant Identity Ones STFT Zeros",
    "keras.src.initializers.initializer": "Initializer",
    "keras.src.initializers.initializers": """
        Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity Initializer LecunNormal LecunUniform Ones
        Orthogonal RandomNormal RandomUniform TruncatedNormal VarianceScaling Zeros
    """,
    "keras.src.initializers.initializers_v1": "HeNormal HeUniform LecunNormal LecunUniform RandomNormal RandomUniform TruncatedNormal",
    "keras.src.initializers.random_initializers": """
        GlorotNormal GlorotUniform HeNormal HeUniform LecunNormal LecunUniform Orthogonal OrthogonalInitializer
        RandomInitializer RandomNormal RandomUniform TruncatedNormal VarianceScaling
    """,
    "keras.src.layers.activation.elu": "ELU",
    "keras.src.layers.activation.leaky_relu": "LeakyReLU",
    "keras.src.layers.activation.prelu": "PReLU",
    "keras.src.layers.activation.relu": "ReLU",
    "keras.src.layers.activation.softmax": "Softmax",
    "keras.src.layers.activation.thresholded_relu": "ThresholdedReLU",
    "keras.src.layers.activations.activation": "Activation",
    "keras.src.layers.activations.elu": "ELU",
    "keras.src.layers.activations.leaky_relu": "LeakyReLU",
    "keras.src.layers.activations.prelu": "PReLU",
    "keras.src.layers.activations.relu": "ReLU",
    "keras.src.layers.activations.softmax": "Softmax",
    "keras.src.layers.attention.additive_attention": "AdditiveAttention",
    "keras.src.layers.attention.attention": "Attention",
    "keras.src.layers.attention.base_dense_attention": "BaseDenseAttention",
    "keras.src.layers.attention.grouped_query_attention": "GroupedQueryAttention",
    "keras.src.layers.attention.multi_head_attention": "MultiHeadAttention",
    "keras.src.layers.convolutional.base_conv": "BaseConv Conv",
    "keras.src.layers.convolutional.base_conv_transpose": "BaseConvTranspose",
    "keras.src.layers.convolutional.base_depthwise_conv": "BaseDepthwiseConv DepthwiseConv",
    "keras.src.layers.convolutional.base_separable_conv": "BaseSeparableConv SeparableConv",
    "keras.src.layers.convolutional.conv1d": "Conv1D",
    "keras.src.layers.convolutional.conv1d_transpose": "Conv1DTranspose",
    "keras.src.layers.convolutional.conv2d": "Conv2D",
    "keras.src.layers.convolutional.conv2d_transpose": "Conv2DTranspose",
    "keras.src.layers.convolutional.conv3d": "Conv3D",
    "keras.src.layers.convolutional.conv3d_transpose": "Conv3DTranspose",
    "keras.src.layers.convolutional.depthwise_conv1d": "DepthwiseConv1D",
    "keras.src.layers.convolutional.depthwise_conv2d": "DepthwiseConv2D",
    "keras.src.layers.convolutional.separable_conv1d": "SeparableConv1D",
    "keras.src.layers.convolutional.separable_conv2d": "SeparableConv2D",
    "keras.src.layers.core.activation": "Activation",
    "keras.src.layers.core.dense": "Dense",
    "keras.src.layers.core.einsum_dense": "EinsumDense",
    "keras.src.layers.core.embedding": "Embedding",
    "keras.src.layers.core.identity": "Identity",
    "keras.src.layers.core.input_layer": "InputLayer",
    "keras.src.layers.core.lambda_layer": "Lambda",
    "keras.src.layers.core.masking": "Masking",
    "keras.src.layers.core.reversible_embedding": "ReversibleEmbedding",
    "keras.src.layers.core.tf_op_layer": "ClassMethod InstanceMethod InstanceProperty SlicingOpLambda TFOpLambda",
    "keras.src.layers.core.wrapper": "Wrapper",
    "keras.src.layers.experimental.dynamic_embedding": "DynamicEmbedding",
    "keras.src.layers.experimental.dynamic_lookup": "DynamicLookup",
    "keras.src.layers.input_spec": "InputSpec",
    "keras.src.layers.kernelized": "RandomFourierFeatures",
    "keras.src.layers.layer": "Layer",
    "keras.src.layers.locally_connected.locally_connected1d": "LocallyConnected1D",
    "keras.src.layers.locally_connected.locally_connected2d": "LocallyConnected2D",
    "keras.src.layers.merging.add": "Add",
    "keras.src.layers.merging.average": "Average",
    "keras.src.layers.merging.base_merge": "Merge _Merge",
    "keras.src.layers.merging.concatenate": "Concatenate",
    "keras.src.layers.merging.dot": "Dot",
    "keras.src.layers.merging.maximum": "Maximum",
    "keras.src.layers.merging.minimum": "Minimum",
    "keras.src.layers.merging.multiply": "Multiply",
    "keras.src.layers.merging.subtract": "Subtract",
    "keras.src.layers.normalization.batch_normalization": "BatchNormalization BatchNormalizationBase SyncBatchNormalization",
    "keras.src.layers.normalization.batch_normalization_v1": "BatchNormalization",
    "keras.src.layers.normalization.group_normalization": "GroupNormalization",
    "keras.src.layers.normalization.layer_normalization": "LayerNormalization",
    "keras.src.layers.normalization.rms_normalization": "RMSNormalization",
    "keras.src.layers.normalization.spectral_normalization": "SpectralNormalization",
    "keras.src.layers.normalization.unit_normalization": "UnitNormalization",
    "keras.src.layers.pooling.adaptive_average_pooling1d": "AdaptiveAveragePooling1D",
    "keras.src.layers.pooling.adaptive_average_pooling2d": "AdaptiveAveragePooling2D",
    "keras.src.layers.pooling.adaptive_average_pooling3d": "AdaptiveAveragePooling3D",
    "keras.src.layers.pooling.adaptive_max_pooling1d": "AdaptiveMaxPooling1D",
    "keras.src.layers.pooling.adaptive_max_pooling2d": "AdaptiveMaxPooling2D",
    "keras.src.layers.pooling.adaptive_max_pooling3d": "AdaptiveMaxPooling3D",
    "keras.src.layers.pooling.average_pooling1d": "AveragePooling1D",
    "keras.src.layers.pooling.average_pooling2d": "AveragePooling2D",
    "keras.src.layers.pooling.average_pooling3d": "AveragePooling3D",
    "keras.src.layers.pooling.base_adaptive_pooling": "BaseAdaptiveAveragePooling BaseAdaptiveMaxPooling BaseAdaptivePooling",
    "keras.src.layers.pooling.base_global_pooling": "BaseGlobalPooling",
    "keras.src.layers.pooling.base_global_pooling1d": "GlobalPooling1D",
    "keras.src.layers.pooling.base_global_pooling2d": "GlobalPooling2D",
    "keras.src.layers.pooling.base_global_pooling3d": "GlobalPooling3D",
    "keras.src.layers.pooling.base_pooling": "BasePooling",
    "keras.src.layers.pooling.base_pooling1d": "Pooling1D",
    "keras.src.layers.pooling.base_pooling2d": "Pooling2D",
    "keras.src.layers.pooling.base_pooling3d": "Pooling3D",
    "keras.src.layers.pooling.global_average_pooling1d": "GlobalAveragePooling1D",
    "keras.src.layers.pooling.global_average_pooling2d": "GlobalAveragePooling2D",
    "keras.src.layers.pooling.global_average_pooling3d": "GlobalAveragePooling3D",
    "keras.src.layers.pooling.global_max_pooling1d": "GlobalMaxPooling1D",
    "keras.src.layers.pooling.global_max_pooling2d": "GlobalMaxPooling2D",
    "keras.src.layers.pooling.global_max_pooling3d": "GlobalMaxPooling3D",
    "keras.src.layers.pooling.max_pooling1d": "MaxPooling1D",
    "keras.src.layers.pooling.max_pooling2d": "MaxPooling2D",
    "keras.src.layers.pooling.max_pooling3d": "MaxPooling3D",
    "keras.src.layers.preprocessing.audio_preprocessing": "MelSpectrogram",
    "keras.src.layers.preprocessing.category_encoding": "CategoryEncoding",
    "keras.src.layers.preprocessing.center_crop": "CenterCrop",
    "keras.src.layers.preprocessing.data_layer": "DataLayer",
    "keras.src.layers.preprocessing.discretization": "Discretization",
    "keras.src.layers.preprocessing.feature_space": "Cross Feature FeatureSpace TFDConcat TFDIdentity",
    "keras.src.layers.preprocessing.hashed_crossing": "HashedCrossing",
    "keras.src.layers.preprocessing.hashing": "Hashing",
    "keras.src.layers.preprocessing.image_preprocessing": """
        CenterCrop RandomBrightness RandomContrast RandomCrop RandomFlip RandomHeight RandomRotation
        RandomTranslation RandomWidth RandomZoom Rescaling Resizing
    """,
    "keras.src.layers.preprocessing.image_preprocessing.aug_mix": "AugMix",
    "keras.src.layers.preprocessing.image_preprocessing.auto_contrast": "AutoContrast",
    "keras.src.layers.preprocessing.image_preprocessing.base_image_preprocessing_layer": "BaseImagePreprocessingLayer",
    "keras.src.layers.preprocessing.image_preprocessing.center_crop": "CenterCrop",
    "keras.src.layers.preprocessing.image_preprocessing.clahe": "ContrastLimitedAdaptiveHistogramEqualization",
    "keras.src.layers.preprocessing.image_preprocessing.cut_mix": "CutMix",
    "keras.src.layers.preprocessing.image_preprocessing.equalization": "Equalization",
    "keras.src.layers.preprocessing.image_preprocessing.max_num_bounding_box": "MaxNumBoundingBoxes",
    "keras.src.layers.preprocessing.image_preprocessing.mix_up": "MixUp",
    "keras.src.layers.preprocessing.image_preprocessing.rand_augment": "RandAugment",
    "keras.src.layers.preprocessing.image_preprocessing.random_brightness": "RandomBrightness",
    "keras.src.layers.preprocessing.image_preprocessing.random_color_degeneration": "RandomColorDegeneration",
    "keras.src.layers.preprocessing.image_preprocessing.random_color_jitter": "RandomColorJitter",
    "keras.src.layers.preprocessing.image_preprocessing.random_contrast": "RandomContrast",
    "keras.src.layers.preprocessing.image_preprocessing.random_crop": "RandomCrop",
    "keras.src.layers.preprocessing.image_preprocessing.random_elastic_transform": "RandomElasticTransform",
    "keras.src.layers.preprocessing.image_preprocessing.random_erasing": "RandomErasing",
    "keras.src.layers.preprocessing.image_preprocessing.random_flip": "RandomFlip",
    "keras.src.layers.preprocessing.image_preprocessing.random_gaussian_blur": "RandomGaussianBlur",
    "keras.src.layers.preprocessing.image_preprocessing.random_grayscale": "RandomGrayscale",
    "keras.src.layers.preprocessing.image_preprocessing.random_hue": "RandomHue",
    "keras.src.layers.preprocessing.image_preprocessing.random_invert": "RandomInvert",
    "keras.src.layers.preprocessing.image_preprocessing.random_perspective": "RandomPerspective",
    "keras.src.layers.preprocessing.image_preprocessing.random_posterization": "RandomPosterization",
    "keras.src.layers.preprocessing.image_preprocessing.random_rotation": "RandomRotation",
    "keras.src.layers.preprocessing.image_preprocessing.random_saturation": "RandomSaturation",
    "keras.src.layers.preprocessing.image_preprocessing.random_sharpness": "RandomSharpness",
    "keras.src.layers.preprocessing.image_preprocessing.random_shear": "RandomShear",
    "keras.src.layers.preprocessing.image_preprocessing.random_translation": "RandomTranslation",
    "keras.src.layers.preprocessing.image_preprocessing.random_zoom": "RandomZoom",
    "keras.src.layers.preprocessing.image_preprocessing.resizing": "Resizing",
    "keras.src.layers.preprocessing.image_preprocessing.solarization": "Solarization",
    "keras.src.layers.preprocessing.index_lookup": "IndexLookup",
    "keras.src.layers.preprocessing.integer_lookup": "IntegerLookup",
    "keras.src.layers.preprocessing.mel_spectrogram": "MelSpectrogram",
    "keras.src.layers.preprocessing.normalization": "Normalization",
    "keras.src.layers.preprocessing.pipeline": "Pipeline",
    "keras.src.layers.preprocessing.preprocessing_stage": "FunctionalPreprocessingStage PreprocessingStage",
    "keras.src.layers.preprocessing.random_brightness": "RandomBrightness",
    "keras.src.layers.preprocessing.random_contrast": "RandomContrast",
    "keras.src.layers.preprocessing.random_crop": "RandomCrop",
    "keras.src.layers.preprocessing.random_flip": "RandomFlip",
    "keras.src.layers.preprocessing.random_rotation": "RandomRotation",
    "keras.src.layers.preprocessing.random_translation": "RandomTranslation",
    "keras.src.layers.preprocessing.random_zoom": "RandomZoom",
    "keras.src.layers.preprocessing.rescaling": "Rescaling",
    "keras.src.layers.preprocessing.resizing": "Resizing",
    "keras.src.layers.preprocessing.stft_spectrogram": "STFTSpectrogram",
    "keras.src.layers.preprocessing.string_lookup": "StringLookup",
    "keras.src.layers.preprocessing.text_vectorization": "TextVectorization",
    "keras.src.layers.preprocessing.tf_data_layer": "TFDataLayer",
    "keras.src.layers.regularization.activity_regularization": "ActivityRegularization",
    "keras.src.layers.regularization.alpha_dropout": "AlphaDropout",
    "keras.src.layers.regularization.dropout": "Dropout",
    "keras.src.layers.regularization.gaussian_dropout": "GaussianDropout",
    "keras.src.layers.regularization.gaussian_noise": "GaussianNoise",
    "keras.src.layers.regularization.spatial_dropout": "BaseSpatialDropout SpatialDropout1D SpatialDropout2D SpatialDropout3D",
    "keras.src.layers.regularization.spatial_dropout1d": "SpatialDropout1D",
    "keras.src.layers.regularization.spatial_dropout2d": "SpatialDropout2D",
    "keras.src.layers.regularization.spatial_dropout3d": "SpatialDropout3D",
    "keras.src.layers.reshaping.cropping1d": "Cropping1D",
    "keras.src.layers.reshaping.cropping2d": "Cropping2D",
    "keras.src.layers.reshaping.cropping3d": "Cropping3D",
    "keras.src.layers.reshaping.flatten": "Flatten",
    "keras.src.layers.reshaping.permute": "Permute",
    "keras.src.layers.reshaping.repeat_vector": "RepeatVector",
    "keras.src.layers.reshaping.reshape": "Reshape",
    "keras.src.layers.reshaping.up_sampling1d": "UpSampling1D",
    "keras.src.layers.reshaping.up_sampling2d": "UpSampling2D",
    "keras.src.layers.reshaping.up_sampling3d": "UpSampling3D",
    "keras.src.layers.reshaping.zero_padding1d": "ZeroPadding1D",
    "keras.src.layers.reshaping.zero_padding2d": "ZeroPadding2D",
    "keras.src.layers.reshaping.zero_padding3d": "ZeroPadding3D",
    "keras.src.layers.rnn.abstract_rnn_cell": "AbstractRNNCell",
    "keras.src.layers.rnn.base_conv_lstm": "ConvLSTM ConvLSTMCell",
    "keras.src.layers.rnn.base_conv_rnn": "ConvRNN",
    "keras.src.layers.rnn.base_cudnn_rnn": "_CuDNNRNN",
    "keras.src.layers.rnn.base_rnn": "RNN",
    "keras.src.layers.rnn.base_wrapper": "Wrapper",
    "keras.src.layers.rnn.bidirectional": "Bidirectional",
    "keras.src.layers.rnn.cell_wrappers": "DeviceWrapper DropoutWrapper ResidualWrapper _RNNCellWrapper",
    "keras.src.layers.rnn.conv_lstm": "ConvLSTM ConvLSTMCell",
    "keras.src.layers.rnn.conv_lstm1d": "ConvLSTM1D",
    "keras.src.layers.rnn.conv_lstm2d": "ConvLSTM2D",
    "keras.src.layers.rnn.conv_lstm3d": "ConvLSTM3D",
    "keras.src.layers.rnn.cudnn_gru": "CuDNNGRU",
    "keras.src.layers.rnn.cudnn_lstm": "CuDNNLSTM",
    "keras.src.layers.rnn.gru": "GRU GRUCell",
    "keras.src.layers.rnn.gru_v1": "GRU GRUCell",
    "keras.src.layers.rnn.legacy_cell_wrappers": "DeviceWrapper DropoutWrapper ResidualWrapper _RNNCellWrapperV1",
    "keras.src.layers.rnn.legacy_cells": "BasicLSTMCell BasicRNNCell GRUCell LSTMCell LayerRNNCell MultiRNNCell RNNCell",
    "keras.src.layers.rnn.lstm": "LSTM LSTMCell",
    "keras.src.layers.rnn.lstm_v1": "LSTM LSTMCell",
    "keras.src.layers.rnn.rnn": "RNN",
    "keras.src.layers.rnn.simple_rnn": "SimpleRNN SimpleRNNCell",
    "keras.src.layers.rnn.stacked_rnn_cells": "StackedRNNCells",
    "keras.src.layers.rnn.time_distributed": "TimeDistributed",
    "keras.src.legacy.layers": "AlphaDropout RandomHeight RandomWidth ThresholdedReLU",
    "keras.src.legacy_tf_layers.base": "Layer",
    "keras.src.legacy_tf_layers.convolutional": "Conv1D Conv2D Conv2DTranspose Conv3D Conv3DTranspose SeparableConv1D SeparableConv2D",
    "keras.src.legacy_tf_layers.core": "Dense Dropout Flatten",
    "keras.src.legacy_tf_layers.normalization": "BatchNormalization",
    "keras.src.legacy_tf_layers.pooling": "AveragePooling1D AveragePooling2D AveragePooling3D MaxPooling1D MaxPooling2D MaxPooling3D",
    "keras.src.legacy_tf_layers.variable_scope_shim": "VariableScopeLayer",
    "keras.src.losses": """
        BinaryCrossentropy BinaryFocalCrossentropy CategoricalCrossentropy CategoricalFocalCrossentropy
        CategoricalHinge CosineSimilarity Hinge Huber KLDivergence LogCosh Loss LossFunctionWrapper
        MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError MeanSquaredLogarithmicError Poisson
        SparseCategoricalCrossentropy SquaredHinge
    """,
    "keras.src.losses.loss": "Loss",
    "keras.src.losses.losses": """
        BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy CategoricalFocalCrossentropy
        CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge Huber KLDivergence
        LogCosh LossFunctionWrapper MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError
        MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge Tversky
    """,
    "keras.src.metrics.accuracy_metrics": """
        Accuracy BinaryAccuracy CategoricalAccuracy SparseCategoricalAccuracy SparseTopKCategoricalAccuracy
        TopKCategoricalAccuracy
    """,
    "keras.src.metrics.base_metric": """
        Mean MeanMetricWrapper MeanTensor Metric Reduce Sum SumOverBatchSize SumOverBatchSizeMetricWrapper
    """,
    "keras.src.metrics.confusion_metrics": """
        AUC FalseNegatives FalsePositives Precision PrecisionAtRecall Recall RecallAtPrecision
        SensitivityAtSpecificity SensitivitySpecificityBase SpecificityAtSensitivity TrueNegatives TruePositives
        _ConfusionMatrixConditionCount
    """,
    "keras.src.metrics.correlation_metrics": "ConcordanceCorrelation PearsonCorrelation",
    "keras.src.metrics.f_score_metrics": "F1Score FBetaScore",
    "keras.src.metrics.hinge_metrics": "CategoricalHinge Hinge SquaredHinge",
    "keras.src.metrics.iou_metrics": "BinaryIoU IoU MeanIoU OneHotIoU OneHotMeanIoU _IoUBase",
    "keras.src.metrics.metric": "Metric",
    "keras.src.metrics.probabilistic_metrics": """
        BinaryCrossentropy CategoricalCrossentropy KLDivergence Poisson SparseCategoricalCrossentropy
    """,
    "keras.src.metrics.py_metric": "PyMetric",
    "keras.src.metrics.reduction_metrics": "Mean MeanMetricWrapper Sum",
    "keras.src.metrics.regression_metrics": """
        CosineSimilarity LogCoshError MeanAbsoluteError MeanAbsolutePercentageError MeanRelativeError
        MeanSquaredError MeanSquaredLogarithmicError R2Score RootMeanSquaredError
    """,
    "keras.src.mixed_precision.loss_scale_optimizer": "LossScaleOptimizer LossScaleOptimizerV3",
    "keras.src.mixed_precision.policy": "Policy",
    "keras.src.models.functional": "Functional",
    "keras.src.models.model": "Model",
    "keras.src.models.sequential": "Sequential",
    "keras.src.models.sharpness_aware_minimization": "SharpnessAwareMinimization",
    "keras.src.ops.core": """
        AssociativeScan Cast Cond ConvertToTensor ForiLoop Map SaturateCast Scan Scatter ScatterUpdate Slice
        SliceUpdate StopGradient Switch Unstack VectorizedMap WhileLoop
    """,
    "keras.src.ops.einops": "Rearrange",
    "keras.src.ops.function": "Function",
    "keras.src.ops.image": """
        AffineTransform CropImages ElasticTransform ExtractPatches ExtractPatches3D GaussianBlur HSVToRGB
        MapCoordinates PadImages PerspectiveTransform RGBToGrayscale RGBToHSV Resize SSIM ScaleAndTranslate
        SobelEdges
    """,
    "keras.src.ops.linalg": """
        Cholesky CholeskyInverse Det Eig Eigh Inv JVP Lstsq LuFactor MatrixRank Norm Pinv Qr SVD Solve
        SolveTriangular
    """,
    "keras.src.ops.math": """
        CDist Erf Erfc Erfinv ExtractSequences FFT FFT2 IFFT2 IRFFT ISTFT InTopK Logdet Logsumexp RFFT Rsqrt STFT
        SegmentMax SegmentMin SegmentProd SegmentReduction SegmentSum TopK ViewAsComplex ViewAsReal
    """,
    "keras.src.ops.nn": """
        AdaptiveAveragePool AdaptiveMaxPool AveragePool BatchNorm BinaryCrossentropy CTCDecode CTCLoss
        CategoricalCrossentropy Celu Conv ConvTranspose DepthToSpace DepthwiseConv DotProductAttention Elu Fold Gelu
        Glu HardShrink HardSigmoid HardSilu HardTanh LayerNorm LeakyRelu LogSigmoid LogSoftmax MaxPool Moments
        MultiHot Normalize OneHot PSNR Polar RMSNorm Relu Relu6 Selu SeparableConv Sigmoid Silu SoftShrink Softmax
        Softplus Softsign SpaceToDepth SparseCategoricalCrossentropy SparsePlus SparseSigmoid Sparsemax Squareplus
        TanhShrink Threshold Unfold
    """,
    "keras.src.ops.numpy": """
        Abs Absolute Add All AllClose Amax Amin Angle Any Append Arange Arccos Arccosh Arcsin Arcsinh Arctan Arctan2
        Arctanh Argmax Argmin Argpartition Argsort Array ArraySplit Average Bartlett Bincount BitwiseAnd
        BitwiseInvert BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift BitwiseXor Blackman BroadcastTo Cbrt
        Ceil Clip Concatenate Conj Conjugate Copy Corrcoef Correlate Cos Cosh CountNonzero Cross Cumprod Cumsum
        Deg2rad Diag Diagflat Diagonal Diff Digitize Divide DivideNoNan Dot Dsplit Dstack Einsum Empty EmptyLike
        Equal Exp Exp2 ExpandDims Expm1 Eye Fabs Flip Fliplr Flipud Floor FloorDivide Fmax Fmin Fmod Full FullLike
        Gcd Geomspace GetItem Greater GreaterEqual Hamming Hanning Heaviside Histogram Hsplit Hstack Hypot I0
        Identity Imag Inner IsIn Isclose Isfinite Isinf Isnan Isneginf Isposinf Isreal Kaiser Kron Lcm Ldexp
        LeftShift Less LessEqual Linspace Log Log10 Log1p Log2 Logaddexp Logaddexp2 LogicalAnd LogicalNot LogicalOr
        LogicalXor Logspace Matmul Max Maximum Mean Median Meshgrid Min Minimum Mod Moveaxis Multiply NanToNum
        Nanargmax Nanargmin Nancumprod Nancumsum Nanmax Nanmean Nanmedian Nanmin Nanpercentile Nanprod Nanquantile
        Nanstd Nansum Nanvar Ndim Negative Nextafter Nonzero NotEqual Ones OnesLike Outer Pad Percentile Power Prod
        Ptp Quantile Rad2deg Ravel Real Reciprocal Repeat Reshape RightShift Roll Rot90 Round SearchSorted Select
        Sign Signbit Sin Sinc Sinh Size Slogdet Sort Split Sqrt Square Squeeze Stack Std Subtract Sum Swapaxes Take
        TakeAlongAxis Tan Tanh Tensordot Tile Trace Transpose Trapezoid Tri Tril Triu TrueDivide Trunc Unique
        UnravelIndex Vander Var Vdot View Vsplit Vstack Where Zeros ZerosLike
    """,
    "keras.src.ops.operation": "Operation",
    "keras.src.optimizers.adadelta": "Adadelta",
    "keras.src.optimizers.adafactor": "Adafactor",
    "keras.src.optimizers.adagrad": "Adagrad",
    "keras.src.optimizers.adam": "Adam",
    "keras.src.optimizers.adamax": "Adamax",
    "keras.src.optimizers.adamw": "AdamW",
    "keras.src.optimizers.base_optimizer": "BaseOptimizer",
    "keras.src.optimizers.ftrl": "Ftrl",
    "keras.src.optimizers.lamb": "Lamb",
    "keras.src.optimizers.legacy.adadelta": "Adadelta",
    "keras.src.optimizers.legacy.adagrad": "Adagrad",
    "keras.src.optimizers.legacy.adam": "Adam NonFusedAdam",
    "keras.src.optimizers.legacy.adamax": "Adamax",
    "keras.src.optimizers.legacy.ftrl": "Ftrl",
    "keras.src.optimizers.legacy.gradient_descent": "SGD",
    "keras.src.optimizers.legacy.nadam": "Nadam",
    "keras.src.optimizers.legacy.optimizer_v2": "OptimizerV2 RestoredOptimizer",
    "keras.src.optimizers.legacy.rmsprop": "RMSprop",
    "keras.src.optimizers.lion": "Lion",
    "keras.src.optimizers.loss_scale_optimizer": "LossScaleOptimizer",
    "keras.src.optimizers.multi_optimizer": "MultiOptimizer OptimizerMap",
    "keras.src.optimizers.muon": "Muon",
    "keras.src.optimizers.nadam": "Nadam",
    "keras.src.optimizers.optimizer": "Optimizer RestoredOptimizer _BaseOptimizer",
    "keras.src.optimizers.optimizer_v1": "Adadelta Adagrad Adam Adamax Nadam Optimizer RMSprop SGD TFOptimizer",
    "keras.src.optimizers.rmsprop": "RMSprop",
    "keras.src.optimizers.schedule_free_adamw": "ScheduleFreeAdamW",
    "keras.src.optimizers.schedules.learning_rate_schedule": """
        CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay LearningRateSchedule LinearCosineDecay
        NoisyLinearCosineDecay PiecewiseConstantDecay PolynomialDecay
    """,
    "keras.src.optimizers.sgd": "SGD",
    "keras.src.premade_models.linear": "LinearModel",
    "keras.src.premade_models.wide_deep": "WideDeepModel",
    "keras.src.quantizers.awq_config": "AWQConfig",
    "keras.src.quantizers.gptq_config": "GPTQConfig",
    "keras.src.quantizers.quantization_config": "Float8QuantizationConfig Int4QuantizationConfig Int8QuantizationConfig QuantizationConfig",
    "keras.src.quantizers.quantizers": "AbsMaxQuantizer FakeQuantWithMinMaxVars GPTQQuantizer Quantizer",
    "keras.src.random.seed_generator": "SeedGenerator",
    "keras.src.regularizers": "L1 L1L2 L2 OrthogonalRegularizer Regularizer",
    "keras.src.regularizers.regularizers": "L1 L1L2 L2 OrthogonalRegularizer Regularizer",
    "keras.src.trainers.compile_utils": "CompileLoss CompileMetrics MetricsList",
    "keras.src.utils.feature_space": "Cross Feature FeatureSpace",
    "keras.src.utils.jax_layer": "FlaxLayer JaxLayer",
    "keras.src.utils.torch_utils": "TorchModuleWrapper",
    "keras.utils": "FeatureSpace",
    "tensorflow.python.ops.init_ops": """
        Constant ConvolutionDeltaOrthogonal ConvolutionOrthogonal ConvolutionOrthogonal1D ConvolutionOrthogonal2D
        ConvolutionOrthogonal3D GlorotNormal GlorotUniform Identity Initializer Ones Orthogonal RandomNormal
        RandomUniform TruncatedNormal UniformUnitScaling VarianceScaling Zeros constant_initializer
        convolutional_delta_orthogonal convolutional_orthogonal_1d convolutional_orthogonal_2d
        convolutional_orthogonal_3d glorot_normal_initializer glorot_uniform_initializer identity_initializer
        ones_initializer orthogonal_initializer random_normal_initializer random_uniform_initializer
        truncated_normal_initializer uniform_unit_scaling_initializer variance_scaling_initializer zeros_initializer
    """,
    "tensorflow.python.ops.init_ops_v2": """
        Constant GlorotNormal GlorotUniform Identity Initializer Ones Orthogonal RandomNormal RandomUniform
        TruncatedNormal VarianceScaling Zeros constant constant_initializer glorot_normal glorot_normal_initializer
        glorot_uniform glorot_uniform_initializer identity identity_initializer normal one ones ones_initializer
        orthogonal orthogonal_initializer random_normal random_normal_initializer random_uniform
        random_uniform_initializer truncated_normal truncated_normal_initializer uniform
        variance_scaling_initializer zero zeros zeros_initializer
    """,
}
FUNCTIONS: dict[str, str] = {
    "keras.activations": """
        celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_tanh leaky_relu linear log_sigmoid
        log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus
        sparse_sigmoid sparsemax squareplus swish tanh tanh_shrink threshold
    """,
    "keras.losses": """
        KLD MAE MAPE MSE MSLE binary_crossentropy binary_focal_crossentropy categorical_crossentropy
        categorical_focal_crossentropy categorical_generalized_cross_entropy categorical_hinge circle
        cosine_similarity ctc dice hinge huber kl_divergence kld kullback_leibler_divergence log_cosh logcosh mae
        mape mean_absolute_error mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error
        mse msle poisson sparse_categorical_crossentropy squared_hinge tversky
    """,
    "keras.metrics": """
        KLD MAE MAPE MSE MSLE binary_accuracy binary_crossentropy binary_focal_crossentropy categorical_accuracy
        categorical_crossentropy categorical_focal_crossentropy categorical_hinge concordance_correlation hinge
        kl_divergence kld kullback_leibler_divergence log_cosh logcosh mae mape mean_absolute_error
        mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error mse msle
        pearson_correlation poisson sparse_categorical_accuracy sparse_categorical_crossentropy
        sparse_top_k_categorical_accuracy squared_hinge top_k_categorical_accuracy
    """,
    "keras.ops": """
        abs absolute adaptive_average_pool adaptive_max_pool add all allclose amax amin angle any append arange
        arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argpartition argsort array array_split
        associative_scan average average_pool bartlett batch_normalization binary_crossentropy bincount bitwise_and
        bitwise_invert bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman
        broadcast_to cast categorical_crossentropy cbrt cdist ceil celu cholesky cholesky_inverse clip concatenate
        cond conj conjugate conv conv_transpose convert_to_numpy convert_to_tensor copy corrcoef correlate cos cosh
        count_nonzero cross ctc_decode ctc_loss cumprod cumsum custom_gradient deg2rad depth_to_space depthwise_conv
        det diag diagflat diagonal diff digitize divide divide_no_nan dot dot_product_attention dsplit dstack dtype
        eig eigh einsum elu empty empty_like equal erf erfc erfinv exp exp2 expand_dims expm1 extract_sequences eye
        fabs fft fft2 flip fliplr flipud floor floor_divide fmax fmin fmod fold fori_loop full full_like gcd gelu
        geomspace get_item glu greater greater_equal hamming hanning hard_shrink hard_sigmoid hard_silu hard_tanh
        heaviside histogram hsplit hstack hypot i0 identity ifft2 imag in_top_k inner inv irfft is_tensor isclose
        isfinite isin isinf isnan isneginf isposinf isreal istft jvp kaiser kron layer_normalization lcm ldexp
        leaky_relu left_shift less less_equal linspace log log10 log1p log2 log_sigmoid log_softmax logaddexp
        logaddexp2 logdet logical_and logical_not logical_or logical_xor logspace logsumexp lstsq lu_factor map
        matmul matrix_rank max max_pool maximum mean median meshgrid min minimum mod moments moveaxis multi_hot
        multiply nan_to_num nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile
        nanprod nanquantile nanstd nansum nanvar ndim negative nextafter nonzero norm normalize not_equal one_hot
        ones ones_like outer pad percentile pinv polar power prod psnr ptp qr quantile rad2deg ravel real rearrange
        reciprocal relu relu6 repeat reshape rfft right_shift rms_normalization roll rot90 round rsqrt saturate_cast
        scan scatter scatter_update searchsorted segment_max segment_min segment_prod segment_sum select selu
        separable_conv shape sigmoid sign signbit silu sin sinc sinh size slice slice_update slogdet soft_shrink
        softmax softplus softsign solve solve_triangular sort space_to_depth sparse_categorical_crossentropy
        sparse_plus sparse_sigmoid sparsemax split sqrt square squareplus squeeze stack std stft stop_gradient
        subtract sum svd swapaxes switch take take_along_axis tan tanh tanh_shrink tensordot threshold tile top_k
        trace transpose trapezoid tri tril triu true_divide trunc unfold unique unravel_index unstack vander var
        vdot vectorize vectorized_map view view_as_complex view_as_real vsplit vstack where while_loop zeros
        zeros_like
    """,
    "keras.ops.image": """
        affine_transform crop_images elastic_transform extract_patches extract_patches_3d gaussian_blur hsv_to_rgb
        map_coordinates pad_images perspective_transform resize rgb_to_grayscale rgb_to_hsv scale_and_translate
        sobel_edges ssim
    """,
    "keras.random": "beta binomial categorical dropout gamma normal randint shuffle truncated_normal uniform",
}
TENSORFLOW: dict[str, str] = {
    "__operators__": "add eq getitem ne ragged_getitem",
    "bitwise": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift",
    "image": """
        adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality adjust_saturation central_crop
        combined_non_max_suppression convert_image_dtype crop_and_resize crop_to_bounding_box decode_and_crop_jpeg
        decode_bmp decode_gif decode_image decode_jpeg decode_jxl decode_png decode_webp draw_bounding_boxes
        encode_jpeg encode_png extract_glimpse extract_image_patches extract_jpeg_shape extract_patches
        flip_left_right flip_up_down generate_bounding_box_proposals grayscale_to_rgb hsv_to_rgb image_gradients
        is_jpeg non_max_suppression non_max_suppression_overlaps non_max_suppression_padded
        non_max_suppression_with_scores pad_to_bounding_box per_image_standardization psnr random_brightness
        random_contrast random_crop random_flip_left_right random_flip_up_down random_hue random_jpeg_quality
        random_saturation resize resize_area resize_bicubic resize_bilinear resize_image_with_crop_or_pad
        resize_image_with_pad resize_images resize_nearest_neighbor resize_with_crop_or_pad resize_with_pad
        rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90 sample_distorted_bounding_box sobel_edges ssim
        ssim_multiscale stateless_random_brightness stateless_random_contrast stateless_random_crop
        stateless_random_flip_left_right stateless_random_flip_up_down stateless_random_hue
        stateless_random_jpeg_quality stateless_random_saturation stateless_sample_distorted_bounding_box
        total_variation transpose transpose_image yiq_to_rgb yuv_to_rgb
    """,
    "linalg": """
        adjoint band_part banded_triangular_solve cholesky cholesky_solve cross det diag diag_part eig eigh
        eigh_tridiagonal eigvals eigvalsh einsum expm eye global_norm inv l2_normalize logdet logm lstsq lu
        lu_matrix_inverse lu_reconstruct lu_solve matmul matrix_rank matrix_transpose matvec norm normalize pinv qr
        set_diag slogdet solve sqrtm svd tensor_diag tensor_diag_part tensordot trace transpose triangular_solve
        tridiagonal_matmul tridiagonal_solve
    """,
    "math": """
        abs accumulate_n acos acosh add add_n angle approx_max_k approx_min_k argmax argmin asin asinh atan atan2
        atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e betainc bincount ceil confusion_matrix conj cos cosh
        count_nonzero cumprod cumsum cumulative_logsumexp digamma divide divide_no_nan equal erf erfc erfcinv erfinv
        exp expm1 floor floordiv floormod greater greater_equal igamma igammac imag in_top_k invert_permutation
        is_finite is_inf is_nan is_non_decreasing is_strictly_increasing l2_normalize lbeta less less_equal lgamma
        log log1p log_sigmoid log_softmax logical_and logical_not logical_or logical_xor maximum minimum mod
        multiply multiply_no_nan ndtri negative nextafter not_equal polygamma polyval pow real reciprocal
        reciprocal_no_nan reduce_all reduce_any reduce_euclidean_norm reduce_logsumexp reduce_max reduce_mean
        reduce_min reduce_prod reduce_std reduce_sum reduce_variance rint round rsqrt scalar_mul segment_max
        segment_mean segment_min segment_prod segment_sum sigmoid sign sin sinh sobol_sample softmax softplus
        softsign sqrt square squared_difference subtract tan tanh top_k truediv unsorted_segment_max
        unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n
        unsorted_segment_sum xdivy xlog1py xlogy zero_fraction zeta
    """,
    "nn": """
        all_candidate_sampler approx_max_k approx_min_k atrous_conv2d atrous_conv2d_transpose avg_pool avg_pool1d
        avg_pool2d avg_pool3d avg_pool_v2 batch_norm_with_global_normalization batch_normalization bias_add
        bidirectional_dynamic_rnn collapse_repeated compute_accidental_hits compute_average_loss conv1d
        conv1d_transpose conv2d conv2d_backprop_filter conv2d_backprop_input conv2d_transpose conv3d
        conv3d_backprop_filter conv3d_backprop_filter_v2 conv3d_transpose conv_transpose convolution crelu
        ctc_beam_search_decoder ctc_beam_search_decoder_v2 ctc_greedy_decoder ctc_loss ctc_loss_v2 ctc_unique_labels
        depth_to_space depthwise_conv2d depthwise_conv2d_backprop_filter depthwise_conv2d_backprop_input
        depthwise_conv2d_native depthwise_conv2d_native_backprop_filter depthwise_conv2d_native_backprop_input
        dilation2d dropout dynamic_rnn elu embedding_lookup embedding_lookup_sparse erosion2d fractional_avg_pool
        fractional_max_pool fused_batch_norm gelu in_top_k isotonic_regression l2_loss l2_normalize leaky_relu
        learned_unigram_candidate_sampler local_response_normalization log_poisson_loss log_softmax
        log_uniform_candidate_sampler lrn max_pool max_pool1d max_pool2d max_pool3d max_pool_v2 max_pool_with_argmax
        moments nce_loss normalize_moments pool quantized_avg_pool quantized_conv2d quantized_max_pool
        quantized_relu_x raw_rnn relu relu6 relu_layer safe_embedding_lookup_sparse sampled_softmax_loss
        scale_regularization_loss selu separable_conv2d sigmoid sigmoid_cross_entropy_with_logits silu softmax
        softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 softplus softsign space_to_batch
        space_to_depth sparse_softmax_cross_entropy_with_logits static_bidirectional_rnn static_rnn
        static_state_saving_rnn sufficient_statistics swish tanh top_k uniform_candidate_sampler
        weighted_cross_entropy_with_logits weighted_moments with_space_to_batch xw_plus_b zero_fraction
    """,
    "quantization": """
        dequantize fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars
        fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel
        fake_quant_with_min_max_vars_per_channel_gradient quantize quantize_and_dequantize
        quantize_and_dequantize_v2 quantized_concat
    """,
    "ragged": """
        boolean_mask constant constant_value cross cross_hashed map_flat_values placeholder range
        row_splits_to_segment_ids segment_ids_to_row_splits stack stack_dynamic_partitions
    """,
    "random": """
        all_candidate_sampler categorical create_rng_state fold_in gamma get_global_generator get_seed
        learned_unigram_candidate_sampler log_uniform_candidate_sampler multinomial normal poisson
        set_global_generator set_random_seed set_seed shuffle split stateless_binomial stateless_categorical
        stateless_gamma stateless_multinomial stateless_normal stateless_parameterized_truncated_normal
        stateless_poisson stateless_truncated_normal stateless_uniform truncated_normal uniform
        uniform_candidate_sampler
    """,
    "sets": "difference intersection set_difference set_intersection set_size set_union size union",
    "signal": """
        dct fft fft2d fft3d fftnd fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d ifftnd ifftshift
        inverse_mdct inverse_stft inverse_stft_window_fn irfft irfft2d irfft3d irfftnd kaiser_bessel_derived_window
        kaiser_window linear_to_mel_weight_matrix mdct mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d
        rfft3d rfftnd stft vorbis_window
    """,
    "sparse": """
        add bincount concat cross cross_hashed expand_dims eye fill_empty_rows from_dense map_values mask matmul
        maximum merge minimum placeholder reduce_max reduce_max_sparse reduce_sum reduce_sum_sparse reorder
        reset_shape reshape retain sampled_addmm segment_mean segment_sqrt_n segment_sum slice softmax
        sparse_dense_matmul split to_dense to_indicator transpose
    """,
    "strings": """
        as_string bytes_split format join length lower ngrams reduce_join regex_full_match regex_replace split strip
        substr to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong to_number unicode_decode
        unicode_decode_with_offsets unicode_encode unicode_script unicode_split unicode_split_with_offsets
        unicode_transcode unsorted_segment_join upper
    """,
}
# What the reader of `.h5` files finds among the layers, beside classes.
LEGACY = """
    Input __builtins__ __cached__ __doc__ __file__ __loader__ __name__ __package__ __path__ __spec__ activations add
    attention average concatenate convolutional core deserialize dot input_spec keras_export layer maximum merging
    minimum multiply normalization pooling preprocessing regularization reshaping rnn serialization_lib serialize
    subtract
"""

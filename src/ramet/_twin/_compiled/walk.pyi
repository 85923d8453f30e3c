from ramet._twin.walk import Walk as Walk

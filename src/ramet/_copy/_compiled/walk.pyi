from ramet._copy.walk import Walk as Walk

unit_tests += %D%/quantity %D%/rng

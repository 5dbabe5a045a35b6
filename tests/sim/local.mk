

sim_tests += %D%/bandit

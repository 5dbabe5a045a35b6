# The trading core and its journal.
unit_tests += %D%/audit %D%/cost %D%/edge %D%/graph %D%/journal %D%/ledger %D%/quant %D%/record \
	%D%/share %D%/trade

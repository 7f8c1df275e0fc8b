/* exchange.h - the formats of other programs: CSV (csv.h) and Princeton text (princeton.h). */
#ifndef NB_EXCHANGE_H
#define NB_EXCHANGE_H

#include "formats/exchange/csv.h"
#include "formats/exchange/princeton.h"

#endif

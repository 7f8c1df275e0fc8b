/* talk.h - what nb-view and the process that serves its page say to each other through a socket: a head, and the bytes
 * that it announces.  Both are of one build, so structures go as they are. */
#ifndef NB_VIEW_TALK_H
#define NB_VIEW_TALK_H

#include <stdint.h>

enum { TALK_TEXT = 256, TALK_VIEWS = 4, TALK_TOKEN = 32, TALK_MOST = 1 << 30 };

enum talk {
	/* to the server: struct talk_setup; the page and the first message of each stream, as they are; a frame; for a
	 * client a picture, or the answer about a body; that there will be no other frame */
	TALK_SETUP = 1,
	TALK_PAGE,
	TALK_HELLO,
	TALK_FRAME,
	TALK_PICTURE,
	TALK_BODY,
	TALK_END,
	/* from it: the port; why it cannot serve, as text; what its clients need; a picture or a body that one wants */
	TALK_PORT,
	TALK_FAILED,
	TALK_NEEDS,
	TALK_DRAW,
	TALK_ASK
};

struct talk_head {
	uint32_t kind, client;
	uint64_t bytes;
};

struct talk_setup {
	char token[TALK_TOKEN + 8], address[TALK_TEXT]; /* "": the loopback interface only */
	int32_t port;					/* 0: any */
};

/* Columns of points: bits of talk_needs.columns, and of messages to the page. */
enum { TALK_VALUE = 1, TALK_SPECIES = 2, TALK_WEIGHT = 4, TALK_ID = 8, TALK_COLUMNS = 4 };

/* What the clients need of the frames to come. */
struct talk_needs {
	uint32_t clients; /* streams */
	uint32_t ready;	  /* of which so many could take another frame */
	uint32_t columns, nview;
	uint64_t most; /* points */
	struct {
		uint32_t by; /* a number for each text */
		char text[TALK_TEXT];
	} view[TALK_VIEWS];
};

/* A frame.  Behind it, each padded to 8 bytes: for each view the description, JSON; then of n points 3 x u16 each;
 * what columns says of species u8, weights u16, ids u64; for each view that has values these, u16. */
struct talk_frame {
	uint64_t number, n;
	uint32_t columns, nview;
	struct {
		uint32_t by, bytes, values; /* values: 0, there are none */
	} view[TALK_VIEWS];
};

/* What a page wants to see: what it says of that, as its function what_is_wanted() makes it. */
struct talk_want {
	uint32_t number, columns, draw, most; /* draw: a picture, too; most: points */
	uint32_t width, height, stretch, map; /* stretch, map: in the order of the words of nb-render-ppm */
	uint32_t paper, unused;		      /* paper: the sky is light */
	double centre[3], right[3], up[3], scale, range[2]; /* range: of mass per length^2; 0 and 0: as it fits */
	unsigned char hidden[256];
	char by[TALK_TEXT];
};
_Static_assert(sizeof(struct talk_want) == 648, "which pages write");

/* A body by its place among the points of a frame. */
struct talk_ask {
	uint64_t frame, index;
};

static inline uint64_t talk_padded(uint64_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* Bytes of one column of n points, by its bit; 0: positions. */
static inline uint64_t talk_column(uint32_t bit, uint64_t n)
{
	return n * (bit == TALK_SPECIES ? 1 : bit == TALK_ID ? 8 : bit == 0 ? 6 : 2);
}

#endif

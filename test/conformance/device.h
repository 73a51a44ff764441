/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * A device with an engine but without a port, for one scenario at a time. Frames go in and out as bytes, and sent
 * frames carry the time at which they left. Only the scenario advances the clock. For one thread.
 */

#ifndef UROCE_TEST_CONFORMANCE_DEVICE_H
#define UROCE_TEST_CONFORMANCE_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce.h>

#include "harness/device.h"
#include "transport/engine.h"

#define DEVICE_FRAME_BYTES 4608
#define DEVICE_BURST 32

struct device_frame {
	uint64_t at_ns;
	uint32_t len;
	uint8_t bytes[DEVICE_FRAME_BYTES];	/* from the Ethernet header to the ICRC */
};

struct device_conf {
	union ibv_gid our_gid;	/* both addresses are of one family */
	union ibv_gid peer_gid;
	bool copy;		/* the port takes no chained mbufs */
	bool go_back_n;		/* no selective retransmission at either end, as in rxe */
};

/* The addresses of a script: 10.0.0.1 and 10.0.0.2, or fd00::1 and fd00::2. */
extern const struct device_conf device_ipv4, device_ipv6;

void device_open(const struct device_conf *conf);
/** Close the device. @return the kind of a leaked object, or NULL */
const char *device_close(void);

struct ibv_context *device_context(void);
const struct device_conf *device_conf_get(void);
uint64_t device_now(void);

/** Write the headers of the peer's frames, up to the UDP header, for this many bytes from the BTH to the ICRC. */
uint32_t device_headers_write(uint8_t *frame, uint32_t udp_payload);

/** Give the engine a burst of frames, as a port does. */
void device_in(const struct device_frame *frames, unsigned int n);
/** Let the engine send, unless it is stalled: then it gets no turn, as on a worker that is not polled. */
void device_send(void);
void device_stall(bool stalled);
/** Take one frame, at once or after a timer within ns. @return false: none */
bool device_send_one(struct device_frame *out, uint64_t ns);
/** The oldest frame that the engine has sent and the scenario has not taken; NULL: none. */
const struct device_frame *device_out_peek(void);
void device_out_take(void);
/** Advance the clock by at most ns, timer by timer, until a frame leaves. @return the rest of ns */
uint64_t device_wait(uint64_t ns);

/** The count of a verdict, or a counter of the engine. @return false: no such counter */
bool device_counter(const char *name, uint64_t *value);

#endif /* UROCE_TEST_CONFORMANCE_DEVICE_H */

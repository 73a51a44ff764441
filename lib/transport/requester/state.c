/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * The table of the requester's states. retry.c applies it.
 */

#include "transport/requester/state.h"

#include <stddef.h>

#define S(state) UROCE_REQUESTER_##state
#define RETRY (UROCE_DO_CHARGE | UROCE_DO_RELEASE | UROCE_DO_BACK | UROCE_DO_ARM | UROCE_DO_TURN)
#define ______ UROCE_REQUESTER_IGNORES

static const struct uroce_requester_step requester_steps[UROCE_REQUESTER_EVENTS] = {
	/*
	 * [event] = { reason in the trace, actions, { next state from:
	 *	IN_ORDER, IN_ORDER_RECOVERS, GAP, GAP_RECOVERS,
	 *	TIMEOUT, TIMEOUT_RECOVERS, RNR, RNR_RECOVERS } }
	 */
	[UROCE_ON_MISSING] = { NULL, 0, {
		S(IN_ORDER_RECOVERS), ______, S(GAP_RECOVERS), ______,
		S(TIMEOUT_RECOVERS), ______, S(RNR_RECOVERS), ______ } },
	[UROCE_ON_REPAIRED] = { NULL, UROCE_DO_RELEASE, {
		______, S(IN_ORDER), ______, S(GAP), ______, S(TIMEOUT), ______, S(RNR) } },
	[UROCE_ON_PROGRESS] = { NULL, 0, {
		______, ______, S(IN_ORDER), S(IN_ORDER_RECOVERS), ______, ______, ______, ______ } },
	[UROCE_ON_SKIP] = { NULL, UROCE_DO_BACK, {
		S(IN_ORDER), S(IN_ORDER_RECOVERS), S(GAP), S(GAP_RECOVERS),
		S(IN_ORDER), S(IN_ORDER_RECOVERS), S(RNR), S(RNR_RECOVERS) } },
	[UROCE_ON_NAK] = { "NAK", RETRY, {
		S(IN_ORDER), S(IN_ORDER), S(GAP), S(GAP), S(IN_ORDER), S(IN_ORDER), S(RNR), S(RNR) } },
	[UROCE_ON_PROBE_NAK] = { "out-of-order packets dropped", UROCE_DO_CHARGE | UROCE_DO_RELEASE | UROCE_DO_BACK, {
		S(IN_ORDER), S(IN_ORDER), S(GAP), S(GAP), S(IN_ORDER), S(IN_ORDER), S(RNR), S(RNR) } },
	[UROCE_ON_PROBE_BACK] = { "out-of-order packets dropped", UROCE_DO_RELEASE | UROCE_DO_BACK, {
		S(IN_ORDER), S(IN_ORDER), S(GAP), S(GAP), S(IN_ORDER), S(IN_ORDER), S(RNR), S(RNR) } },
	[UROCE_ON_RESPONSE_GAP] = { "response gap", RETRY, {
		S(GAP), S(GAP), ______, ______, S(GAP), S(GAP), ______, ______ } },
	[UROCE_ON_TIMEOUT] = { "timeout", RETRY, {
		S(TIMEOUT), S(TIMEOUT), S(TIMEOUT), S(TIMEOUT), S(TIMEOUT), S(TIMEOUT), ______, ______ } },
	[UROCE_ON_RNR_NAK] = { "RNR NAK", UROCE_DO_RELEASE | UROCE_DO_BACK, {
		S(RNR), S(RNR), S(RNR), S(RNR), S(RNR), S(RNR), ______, ______ } },
	[UROCE_ON_RNR_OVER] = { NULL, UROCE_DO_ARM | UROCE_DO_TURN, {
		______, ______, ______, ______, ______, ______, S(IN_ORDER), S(IN_ORDER_RECOVERS) } },
	[UROCE_ON_UNREADABLE] = { NULL, UROCE_DO_RELEASE | UROCE_DO_BACK, {
		S(IN_ORDER), S(IN_ORDER), S(GAP), S(GAP), S(IN_ORDER), S(IN_ORDER), S(RNR), S(RNR) } },
	[UROCE_ON_MOVED] = { "moved", UROCE_DO_RELEASE | UROCE_DO_BACK | UROCE_DO_TURN, {
		______, S(IN_ORDER), ______, S(GAP), ______, S(IN_ORDER), ______, S(RNR) } },
	[UROCE_ON_STOP] = { NULL, UROCE_DO_RELEASE, {
		S(IN_ORDER), S(IN_ORDER), S(IN_ORDER), S(IN_ORDER),
		S(IN_ORDER), S(IN_ORDER), S(IN_ORDER), S(IN_ORDER) } },
};

const struct uroce_requester_step *
uroce_requester_step(enum uroce_requester_event event)
{
	return &requester_steps[event];
}

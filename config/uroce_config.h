/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Every limit and tunable of uroce has its name here; device attributes report these values.
 */

#ifndef UROCE_CONFIG_H
#define UROCE_CONFIG_H

/* The IDs that a device reports; doc/verbs.rst explains them. */
#define UROCE_VENDOR_ID 0x726f63	/* "roc"; as an OUI it is administered locally */
#define UROCE_VENDOR_PART_ID 0x7572	/* "ur" */

/* Objects of a device; tables are allocated at these powers of two when the device opens. */
#define UROCE_LOG2_MAX_QP 16		/* default, changed by uroce_port_conf.log2_max_qp */
#define UROCE_LOG2_MAX_MR 16		/* default, changed by uroce_port_conf.log2_max_mr */
#define UROCE_LOG2_LIMIT_QP 18		/* the most that a device can be opened with */
#define UROCE_LOG2_LIMIT_MR 22
#define UROCE_MAX_PD 65536
#define UROCE_MAX_CQ 65536
#define UROCE_MAX_AH 65536
#define UROCE_DESTROY_POLLS 256		/* at most, so that a destroyed UD or UC QP sends what is queued */
#define UROCE_PATH_WAIT_POLLS 10000	/* for the MAC of a new path, where it is waited for: a second, as in Linux */
#define UROCE_PATH_WAIT_PAUSE_NS 100000	/* between two of them */
#define UROCE_MAX_MCAST_GROUPS 1024	/* per device */
#define UROCE_MAX_MCAST_QPS 64		/* per group: so many copies a packet may become */
#define UROCE_LOG2_MCAST_BUCKETS 8
#define UROCE_MCAST_BUCKETS (1 << UROCE_LOG2_MCAST_BUCKETS)
#define UROCE_MAX_CQE (1 << 22)
#define UROCE_MAX_QP_WR 32768
#define UROCE_LOG2_MAX_SRQ 14
#define UROCE_MAX_SRQ_WR (1 << 20)
#define UROCE_MAX_XRCD 16384		/* opened, per device */
#define UROCE_MAX_SGE 16
#define UROCE_MAX_INLINE_BYTES 512
#define UROCE_MAX_MR_BYTES (1ull << 46)
#define UROCE_MAX_MSG_BYTES (1u << 31)	/* C9-94 */
#define UROCE_MAX_RD_ATOMIC 128		/* as initiator and as target, per QP */
#define UROCE_MAX_GID 64
#define UROCE_MAX_QUEUED_EVENTS (1 << 18)	/* per channel and device, not yet read by the application */
#define UROCE_MAX_WORKERS 64
#define UROCE_MAX_DEVICES 32

/* Memory */
#define UROCE_FLUSH_BYTES (1u << 20)	/* made persistent in one turn of a QP */
#define UROCE_NULL_BYTES 4096		/* of a null MR at a time: a packet's payload */
#define UROCE_MR_WAIT_TELL_NS 1000000000ull	/* a deregistration that waits this long for mbufs is logged */
#define UROCE_MR_WAIT_MAX_NS 10000000000ull	/* uroce_dereg_mr() times out: later than an unanswered neighbor */
#define UROCE_RECLAIM_LOOKS 64		/* objects that wait to be freed and that one poll looks at */
#define UROCE_CLEANUP_NS 10000ull	/* interval at which ports free sent mbufs while a deregistration waits */
#define UROCE_WORKER_LEFT_NS 10000000ull	/* a worker that was not polled for this long has no owner */
#define UROCE_GIVE_BACK_LOOKS 100	/* polls for drivers in a burst, before DPDK's memory is freed under frames */
#define UROCE_GIVE_BACK_PAUSE_NS 100000	/* between two such polls */
#define UROCE_IOVA_SCAN_PAGES 16	/* of a region: more of EAL's pages are not looked at one by one */
#define UROCE_RANDOM_WORDS 32		/* 64-bit words a thread takes from getrandom(2) at a time */

/* Requester and responder */
#define UROCE_WINDOW_PACKETS 256	/* unacknowledged request PSNs per QP */
#define UROCE_ACK_REQ_PACKETS 32	/* AckReq at least this often within a message */
#define UROCE_UC_MAX_WRONG_KEYS 4096	/* wrong keys after which a UC QP fails; an RC QP fails at the first */
#define UROCE_SEND_QUANTUM 32		/* packets a QP may send before the next one's turn */
#define UROCE_BURST 32			/* frames per RX or TX burst */
#define UROCE_BURST_FULL 16		/* frames of an RX burst from which on the ring may have more */
#define UROCE_BATCH_BYTES 8192		/* of payload are read by the ICRC, then placed, while they are in L1 */
#define UROCE_TX_INLINE_BYTES 256		/* payloads up to here share the header's mbuf */
#define UROCE_ZERO_COPY_SEGS 4		/* most pieces of a payload that leaves as external mbufs */
#define UROCE_MBUF_AHEAD 24		/* mbufs are prefetched so many allocations before their use */
#define UROCE_RUN_PACKETS 2		/* least packets from the middle of a message that are built in bulk */
#define UROCE_RUN_AHEAD 4		/* bulk build: a packet's mbufs are prefetched so many packets before it */
#define UROCE_ZERO_COPY_BYTES 1024	/* payloads from here on leave as external mbufs */

/* Loss recovery */
#define UROCE_REORDER_WINDOW 1024		/* PSNs ahead of the expected one that are kept, and that a requester sends
					 * beyond what is acknowledged while it recovers; a power of two */
#define UROCE_REORDER_FRAMES 2048		/* out-of-order frames that a worker keeps, for all of its QPs */
#define UROCE_REORDER_QPS 256		/* QPs that a worker keeps frames for; the other peers retransmit */
#define UROCE_REORDER_SPARE 16		/* a 16th of a pool, and two bursts, are left to receive and send */
#define UROCE_REORDER_SPARE_FRAMES 8	/* the pool's level is checked once per so many kept frames */
#define UROCE_REORDER_NS 100000000ull	/* without progress for this long, kept frames are dropped */
#define UROCE_SACK_RUNS 32		/* runs that a SACK reports */
#define UROCE_RECOVERIES 256		/* QPs of a worker that recover at a time; the others go back N */
#define UROCE_RESENT 128		/* retransmitted packets of a QP in flight */
#define UROCE_RETRIES_AT_FULL_WINDOW 1	/* retries in a row without progress before the window shrinks */
#define UROCE_RETRY_WINDOW 8		/* PSNs in flight after more retries, until there is progress */
#define UROCE_PROBE_MIN_NS 200000ull	/* least delay of a probe */
#define UROCE_PROBE_INITIAL_NS 10000000ull	/* delay of a probe before a round trip has been measured */

/* Congestion control: of an engine, and the defaults of struct uroce_congestion */
#define UROCE_RATES 1024		/* QPs of a worker held to a rate at a time; CNPs for others are dropped */
#define UROCE_CNPS 32			/* made and not sent yet, per worker */
#define UROCE_BACKOFF_BURST_NS 32000ull	/* most credit of a paced QP, as time at its rate */
#define UROCE_BACKOFF_LOOK_NS 500000ull	/* longest interval between two updates of a QP's rate */
#define UROCE_BACKOFF_ASLEEP_NS 100000000ull	/* a longer gap between updates does not count for the rate */
#define UROCE_BACKOFF_FRAME_BYTES 24	/* bytes on an Ethernet wire beside the frame: preamble, FCS, gap */
#define UROCE_CNP_INTERVAL_US 50	/* between two CNPs of a QP */
#define UROCE_CNP_DSCP 48		/* CS6 */
#define UROCE_RPG_MAX_RATE 100000	/* Mb/s, where the port does not know its speed */
#define UROCE_RPG_MIN_RATE 10		/* Mb/s */
#define UROCE_RPG_AI_RATE 40
#define UROCE_RPG_HAI_RATE 200
#define UROCE_RPG_THRESHOLD 5
#define UROCE_RPG_TIME_RESET_US 55
#define UROCE_RPG_BYTE_RESET 10000000
#define UROCE_RPG_MIN_DEC_FAC 50	/* % */
#define UROCE_RATE_REDUCE_MONITOR_PERIOD_US 4
#define UROCE_DCE_TCP_G 1020		/* of 1024: what of alpha is kept */
#define UROCE_DCE_TCP_RTT_US 55
#define UROCE_INITIAL_ALPHA_VALUE 1024	/* of 1024 */
#define UROCE_CONGESTION_MAX_RATE 1000000	/* Mb/s; the most that a parameter may be */
#define UROCE_CONGESTION_MAX_US 1000000

/* rdma_cm */
#define UROCE_CMA_RESPONSE_TIMEOUT 20	/* 4.096 us << 20: between retransmissions of a request */
#define UROCE_CMA_MAX_RETRIES 15
#define UROCE_CMA_SIDR_TIMEOUT_MS 4295	/* the same, in ms */
#define UROCE_CMA_PACKET_LIFE_TIME 18	/* 4.096 us << 18: what Linux takes for RoCE */
#define UROCE_CMA_HOP_LIMIT 64
#define UROCE_CMA_PKEY 0xffff
#define UROCE_CMA_QKEY 0x01234567	/* RDMA_UDP_QKEY: QPs and groups of RDMA_PS_UDP */
#define UROCE_CMA_MCAST_QPN 0xffffff
#define UROCE_CMA_MAX_QPN 0xffffff
#define UROCE_CMA_FIRST_PORT 32768	/* first ephemeral port, for IDs that request none */
#define UROCE_CMA_LAST_PORT 60999
#define UROCE_CMA_PORT_BUCKETS 4096	/* of the table of ports in use */
#define UROCE_CMA_MAX_BACKLOG 16384	/* requests not yet got from a listener's channel */
#define UROCE_CMA_RESOLVE_NS 10000000ull	/* between looks at a neighbor that is being resolved */
#define UROCE_CMA_EP_TIMEOUT_MS 2000	/* rdma_create_ep(3): of resolving */

/* Wire */
#define UROCE_HOP_LIMIT 64		/* of a CNP, and of an address vector that says none */
#define UROCE_COPY_LONG_BYTES 512	/* copies from here on are not left to memcpy() */
#define UROCE_ICRC_COPY_BYTES 128	/* of a frame's head, copied to mask fields before its ICRC */

/* Attributes of a device that describe rather than limit */
#define UROCE_LOCAL_CA_ACK_DELAY 15	/* 4.096 us << 15: how long a busy application may leave us unpolled */

/* Timers */
#define UROCE_TICK_NS 4096		/* granularity of the timer wheel: that of the timeout attribute */

/* Ports */
#define UROCE_PORT_MTU 4200		/* Ethernet MTU asked for by default: path MTU 4096 fits */
#define UROCE_MTU_OVERHEAD 84		/* IPv6, UDP, BTH, RETH, ImmDt and ICRC round a payload */
#define UROCE_RX_DESC 1024
#define UROCE_TX_DESC 1024
#define UROCE_RX_MBUFS 2047		/* at least; per queue, beside UROCE_REORDER_FRAMES */
#define UROCE_HEADER_MBUFS 16383	/* per worker: many, so that their lines have left the peer's cache */
#define UROCE_PAYLOAD_MBUFS 2047	/* per worker: few, so that they stay in cache */
#define UROCE_MBUF_CACHE 512		/* EAL's most: a window of chains goes round in it */
#define UROCE_INBOX 512			/* frames handed over to a worker and not yet taken: few of a pool's */
#define UROCE_RX_AHEAD 4		/* a packet's QP is prefetched so many frames ahead */
#define UROCE_ACK_DEFER_PACKETS 4	/* a larger burst is acknowledged at once: throughput counts, not latency */
#define UROCE_ACK_RING_SIZE 256		/* ring of the QPs of a worker that owe an ACK; a power of 2 */
#define UROCE_ACK_REPLIES 16		/* QPs of a worker whose ACK waits for the application's reply */
#define UROCE_ACK_REPLY_NS 100000ull	/* longest wait of such an ACK */
#define UROCE_REPLY_SCORE 32		/* score from which ACKs wait: WRITEs replied to within UROCE_ACK_REPLY_NS */
#define UROCE_REPLY_SCORE_MAX 128	/* highest score; a WRITE without a reply halves it */
#define UROCE_POLL_BURSTS 4		/* bursts sent in one poll; one is received from each queue */
#define UROCE_POLL_YIELD_NS 20000ull	/* a thread that polls an empty CQ for this long yields */
#define UROCE_ROUND_MAX_NS 1000000ull	/* time of a round beyond this does not count as its work */
#define UROCE_LINK_POLL_NS 250000000ull	/* interval at which a port's link is checked */
#define UROCE_TX_STALL_NS 100000000	/* polled for this long, a port that takes no frames loses them */
#define UROCE_TX_KICK_WAIT_NS 10000000ull	/* then a port that keeps sent mbufs gets dummy frames to send */
#define UROCE_TX_KICK_NS 100000ull	/* interval of bursts of dummy frames, at first */

/* ARP, neighbor discovery, ICMP */
#define UROCE_MAX_NEIGHBORS 1024	/* per device */
#define UROCE_NEIGHBOR_PENDING 32	/* frames that wait for one address */
#define UROCE_NEIGHBORS_PENDING 128	/* for all of a device: few of a pool's, which is others' too */
#define UROCE_NEIGHBOR_PROBES 5	/* unanswered: the frames are dropped */
#define UROCE_NEIGHBOR_PROBE_NS 250000000ull	/* to the second probe; doubles with each */
#define UROCE_NEIGHBOR_AGE_NS 60000000000ull	/* then an address is probed again */
#define UROCE_NEIGHBOR_WANTED_NS 2000000000ull	/* an address that is asked for by no path stays so long */
#define UROCE_MAX_PINGS 16		/* at a time, per device */
#define UROCE_PING_BYTES 56

/* Telemetry */
#define UROCE_TELEMETRY_PAGE 256	/* numbers in an answer: ten digits each fit into rte_telemetry's 16 KiB */
#define UROCE_TELEMETRY_TOP 16		/* QPs that have most of something */
#define UROCE_TELEMETRY_WAIT_NS 100000000ull	/* for a worker's turn */

/* netem */
#define UROCE_NETEM_LIMIT 4096		/* frames held back, per queue, by default */
#define UROCE_NETEM_MAX_LIMIT (1 << 20)
#define UROCE_NETEM_SPARE 1023		/* mbufs beside them: copies that have been handed on */
#define UROCE_NETEM_MAX_BURST 65536	/* frames lost in a row, on average */
#define UROCE_NETEM_REORDER_NS 20000	/* a frame that is overtaken comes so much later */
#define UROCE_NETEM_LEAVE_MS 1000	/* for copies to be freed when it ends */

/* Connection management's QP1 and thread */
#define UROCE_CM_RECVS 4096		/* MADs that came and were not looked at yet; what is more is dropped */
#define UROCE_CM_SENDS 1024		/* ... that were posted and have not left */
#define UROCE_CM_BACKLOG 32768		/* ... that wait behind these */
#define UROCE_CM_ROUND 256		/* ... looked at while the lock is held */
#define UROCE_CM_POLL_NS 1000000ull	/* workers that nobody polls are polled so often by the thread */
#define UROCE_CM_BUSY_POLL_NS 20000ull	/* ... while something happens, */
#define UROCE_CM_BUSY_NS 5000000ull	/* and so long afterwards */
#define UROCE_CM_LEAVE_NS 100000000ull	/* for the last MADs to leave when the service stops */

/* IGMP and MLD */
#define UROCE_GROUP_RECORDS 60		/* of one report: it fits into the least MTU of IPv6 */
#define UROCE_GROUP_REPEAT_NS 1000000000ull	/* at most so long between two reports of a change */
#define UROCE_GROUP_OLD_REPEAT_NS 10000000000ull	/* ... in IGMPv2 and MLDv1 */
#define UROCE_GROUP_OLD_QUERIER_NS 260000000000ull	/* after its last query a querier of these is gone */
#define UROCE_GROUP_MIN_DELAY_NS 10000000ull	/* queries that allow less are answered within this */

/* The programs */
#define UROCE_APP_MAX_PORTS 8
#define UROCE_APP_MAX_ADDRESSES 32		/* --addr */
#define UROCE_APP_RING_FRAMES 1024		/* between the two ports of a run within one process */
#define UROCE_APP_NO_HUGE_MIB "1024"		/* EAL's own default, 64 MiB, holds no benchmark */

/* Connection management, per device */
#define UROCE_CM_MAX_CONNS (1 << 17)	/* with listeners, requests not yet answered and TIMEWAIT */
#define UROCE_CM_MAX_HALF_OPEN (1 << 15)	/* of them, that a peer has begun and not yet finished */
#define UROCE_CM_MAX_HALF_OPEN_GID (1 << 14)	/* ... and of these, of one peer */
#define UROCE_CM_SOURCES 4096		/* counts of them; peers that share one share the limit */
#define UROCE_CM_HALF_OPEN_NS 120000000000ull	/* a REP is answered by then: Linux's own patience is 103 s */
#define UROCE_CM_HALF_OPEN_YIELD_NS 2000000000ull	/* where all are in use, a REP that waits for so long yields */
#define UROCE_CM_MAX_LINGER (1 << 12)	/* of them, SIDR answers kept for those who ask again */
#define UROCE_CM_LINGER_NS 10000000000ull	/* so long: rdma_cm of Linux asks again after 4.1 s */
#define UROCE_CM_PROBE_NS 100000000ull	/* least interval between two probes of a connection that may be stale */
#define UROCE_CM_MIN_TIMEOUT 12		/* 4.096 us << it: nothing is sent again sooner, whatever a peer says */
#define UROCE_CM_MAX_TIMEOUT 24		/* 4.096 us << it, 69 s: nothing is waited for longer in one go */
#define UROCE_CM_MAX_SIDR_TIMEOUT_MS 60000
#define UROCE_CM_MRA_TIMEOUT 24		/* what we ask a peer for whose request waits for the consumer */

/* libibverbs.so.1, which is told its ports by UROCE_EAL_ARGS and their addresses by UROCE_ADDR */
#define UROCE_VERBS_EAL_ARGS 65		/* words, including uroce's own */
#define UROCE_VERBS_THREAD_NAME "uroce-progress"	/* the progress thread; at most 15 characters */
#define UROCE_VERBS_FILES 32		/* file descriptors of a device and a program with a few channels */
#define UROCE_VERBS_PATH_BYTES 512	/* of a file below /sys */
#define UROCE_VERBS_BUSY_US 100		/* default: a thread that waits for frames polls so long before it sleeps */
#define UROCE_VERBS_MAX_BUSY_US 1000000
#define UROCE_VERBS_MIN_SLEEP_NS 20000ull	/* first sleep: what a timer costs in a virtual machine */
#define UROCE_VERBS_SLEEP_PART 8	/* later sleeps: this part of the time since the last frame */
#define UROCE_VERBS_MAX_SLEEP_NS 1000000ull	/* longest sleep */
#define UROCE_VERBS_SPARED_NS 16000000ull	/* cap of the time that the application is taken to have polled */
#define UROCE_VERBS_IDLE_NS 1000000000ull	/* idle after this long without a frame */
#define UROCE_VERBS_IDLE_SLEEP_NS 8000000ull	/* longest sleep after UROCE_VERBS_IDLE_NS without a frame */
#define UROCE_VERBS_NAP_NS 50000ull	/* a post does not end a sleep this short */
#define UROCE_VERBS_POLLED_NS 20000ull	/* a round this recent shows that the application is polling */
#define UROCE_VERBS_CROWD_NS 10000000ull	/* between two reads of the number of runnable threads */
#define UROCE_VERBS_SPINS 16		/* pauses between two checks whether the application polls */
#define UROCE_VERBS_LEAST_CQE 64	/* entries of a CQ that is asked for with fewer */
#define UROCE_VERBS_LOOKS 16		/* empty polls per check of the file descriptor */
#define UROCE_VERBS_PEER_WAIT_MS 10000	/* longest wait for the other process of a pair to open its port */
#define UROCE_VERBS_PEER_STEP_MS 10	/* between two checks for it */
#define UROCE_VERBS_LINK_WAIT_MS 250	/* for a port to have one */
#define UROCE_VERBS_FIRST_LINK_WAIT_MS 50	/* ... for another process to take a connection: then it is asked
						 * again, and waited for twice as long, */
#define UROCE_VERBS_LAST_LINK_WAIT_MS 1600	/* up to this */
#define UROCE_VERBS_REJOIN_US 100000	/* between two looks for another process in the place of one that has gone */
#define UROCE_VERBS_REJOINS 5		/* it is asked so often for a connection, after 1, 2, 4, ... of these */
#define UROCE_VERBS_RING_MAX (1 << 14)	/* slots of net_memif's longest ring: what is behind so many frames is read */
#define UROCE_VERBS_HANG_UP_PAUSES 5000	/* for its peers to be told, when a program ends, and then */
#define UROCE_VERBS_LEAVE_PAUSES 1000	/* for it to take what was sent last, when a program ends, */
#define UROCE_VERBS_LEAVE_PAUSE_NS 1000000	/* each so long: it may stand still for a while; */
#define UROCE_VERBS_LINGER_NS 20000000ull	/* of another driver nobody knows: then so long */
#define UROCE_UCMA_MAX_BYTES 1024u	/* of an answer of the rdma_cm device, and of an option */
#define UROCE_UCMA_MAX_HANDLES (1u << 16)	/* IDs of the rdma_cm device, and groups: librdmacm's tables' end */

/* uroce-rping */
#define UROCE_RPING_PORT 7174
#define UROCE_RPING_SIZE 64			/* bytes of a ping, by default */
#define UROCE_RPING_MIN_SIZE 26			/* its number fits, and a letter: rping's, too */
#define UROCE_RPING_MAX_SIZE 65535		/* rping's, too */
#define UROCE_RPING_BUFFER_BYTES 65536
#define UROCE_RPING_BACKLOG 128			/* clients that may wait to be accepted */
#define UROCE_RPING_RESOLVE_MS 2000
#define UROCE_RPING_PROBE_S 5			/* of silence: then the other end is asked whether it is there */
#define UROCE_RPING_LEAVE_S 5			/* for the other end to answer that it disconnects */
#define UROCE_RPING_LINGER_MS 100		/* for our answer to reach it */

/* uroce-switch */
#define UROCE_SWITCH_PORTS 32			/* RTE_MAX_ETHPORTS of Debian's DPDK */
#define UROCE_SWITCH_DEFAULT_PORTS 8
#define UROCE_SWITCH_STATIONS 4096		/* learned at a time; frames for others go everywhere */
#define UROCE_SWITCH_AGE_NS 300000000000ull	/* a station is forgotten after so long a silence: 802.1Q's default */
#define UROCE_SWITCH_FRAME_BYTES 9216		/* of the longest frame */
#define UROCE_SWITCH_QUEUE 512			/* frames that wait for a port; what comes then is dropped, */
#define UROCE_SWITCH_QUEUE_SHARE 384		/* as what comes from a port that has so many of them */
#define UROCE_SWITCH_SLOTS 1024			/* with what tells who has gone, which no frames may keep out */
#define UROCE_SWITCH_MARK 64			/* ... and from here on they are marked, if they say that they can be */
#define UROCE_SWITCH_DESC 256			/* of an ethdev's queues */
#define UROCE_SWITCH_WATCH_NS 1000000ull	/* between two looks at the links */
#define UROCE_SWITCH_YIELD_NS 1000000ull	/* without a frame: others may run meanwhile, */
#define UROCE_SWITCH_CROWDED_NS 100000ull	/* but where they take so long, */
#define UROCE_SWITCH_CROWD_NS 1000000000ull	/* for so long it waits to be woken instead, */
#define UROCE_SWITCH_WAKE_NS 1000000ull		/* at first until then, for a client may not know yet that it has to, */
#define UROCE_SWITCH_WAIT_NS 100000000ull	/* and then until then */
#define UROCE_SWITCH_NAP_NS 50000ull		/* where there are ethdevs, which wake nobody, until then, */
#define UROCE_SWITCH_IDLE_NS 1000000000ull	/* and after this */
#define UROCE_SWITCH_SLEEP_NS 1000000ull	/* until then */
#define UROCE_SWITCH_SLICE_NS 100000ull		/* of the scheduler's: the shortest of Linux, for an early turn */
#define UROCE_SWITCH_LOCK_NAPS 100		/* for the lock of its directory, which others hold for a moment, */
#define UROCE_SWITCH_LOCK_NAP_NS 10000000l	/* each so long */
#define UROCE_SWITCH_GUESTS 64			/* at the socket, with no port yet: one more replaces the oldest */
#define UROCE_SWITCH_GREET_NS 5000000000ull	/* ... and so long at most */
#define UROCE_SWITCH_EVENTS 64			/* of them all in one look; the others are seen in the next, */
#define UROCE_SWITCH_MESSAGES 16		/* as is what one has said beyond so many messages */
#define UROCE_SWITCH_PASSED 253			/* descriptors in a message: the kernel's most */
#define UROCE_SWITCH_SAY_NS 1000000000ull	/* between two messages about clients */
#define UROCE_SWITCH_REGIONS 4			/* of memory, of a client, */
#define UROCE_SWITCH_REGION_BYTES (1ull << 30)	/* each at most */
#define UROCE_SWITCH_RINGS 16			/* of a client, each way */
#define UROCE_SWITCH_FRAME_SLOTS 64		/* of a ring that a frame takes, at most */
#define UROCE_SWITCH_CLIENT_STATIONS 64		/* learned at a client's port */
#define UROCE_SWITCH_PORT_MIB 12		/* of EAL's memory for each port, without hugepages */
#define UROCE_SWITCH_BASE_MIB 64

/* uroce-perf */
#define UROCE_PERF_MAX_QPS 65536
#define UROCE_PERF_MAX_SIZE (1u << 30)		/* bytes of one message */
#define UROCE_PERF_MAX_TIME_S 86400
#define UROCE_PERF_MIN_STATS_S 0.1		/* --stats-period */
#define UROCE_PERF_ALL_SIZES_LOG2 23		/* --size all: 1 B to 8 MiB */
#define UROCE_PERF_BUFFER_BYTES (64u << 20)	/* message buffers of one end, at one per QP at least */
#define UROCE_PERF_WINDOW_BYTES (1u << 20)	/* of one QP: stays in cache */
#define UROCE_PERF_VERIFY_WINDOW_BYTES (8u << 20)	/* of one QP with --verify: none is reused unchecked */
#define UROCE_PERF_BATCH 16			/* work requests posted at once, the last one signalled */
#define UROCE_PERF_BATCH_BYTES 8192		/* messages from here on are posted one by one */
#define UROCE_PERF_INLINE_BYTES 32		/* messages up to here are posted inline */
#define UROCE_PERF_LOSSY_RECEIVES 1024		/* of a QP whose transport does not send again, at least */
#define UROCE_PERF_LOSSY_WINDOW 256		/* messages without credit of a QP whose transport does not retransmit, at least */
#define UROCE_PERF_LOST_MS 100			/* without a sign of a message of UC or UD, the peer is asked */
#define UROCE_PERF_LOSS_WINDOW 4096		/* messages lost in a row that are still told from wrong ones */
#define UROCE_PERF_OOB_PORT 18515
#define UROCE_PERF_CM_PORT 18515		/* of RDMA_PS_TCP */
#define UROCE_PERF_CM_CHUNKS 64			/* lines on their way, each way */
#define UROCE_PERF_CM_CONNECT_MS 20000		/* for the answer to a REQ, which is repeated */
#define UROCE_PERF_CM_CLOSE_MS 1000		/* for the peer to see that we leave */
#define UROCE_PERF_OOB_TIMEOUT_MS 10000		/* for an answer, and for a sign of life */
#define UROCE_PERF_OOB_FAILED_MS 1000		/* for the answer after a run that failed */
#define UROCE_PERF_OOB_LINE_BYTES 512
#define UROCE_PERF_LEAVE_MS 100			/* from the end of the client to that of the server's port */
#define UROCE_PERF_STALL_S 10			/* no completion, no credit: the run is given up */
#define UROCE_PERF_COMMAND_BYTES 512		/* of one command of the prompt or of --cmdline-file */
#define UROCE_PERF_IDLE_US 1000			/* between two looks of the prompt's main thread, while no test runs */
#define UROCE_PERF_IDLE_LOOKS 50		/* ... of which one is at the other end, too: is it there? */
#define UROCE_PERF_COUNTERS 256			/* of a port, that are shown */
#define UROCE_PERF_SHOWN_QPS 16			/* of those that there are, unless all are asked for */
#define UROCE_PERF_SLOW_BYTES_S 10000000	/* a link this slow is no reason to give up */

#endif /* UROCE_CONFIG_H */

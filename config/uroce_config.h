/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright 2026 The uroce authors
 *
 * Names all limits and tunables of uroce; device attributes report these values.
 */

#ifndef UROCE_CONFIG_H
#define UROCE_CONFIG_H

/* The IDs that a device reports; doc/reference/verbs.rst explains them. */
#define UROCE_VENDOR_ID 0x726f63	/* "roc"; as an OUI it is administered locally */
#define UROCE_VENDOR_PART_ID 0x7572	/* "ur" */

/* Objects of a device; tables are allocated at these powers of two when the device opens. */
#define UROCE_LOG2_MAX_QP 16		/* default, changed by uroce_port_conf.log2_max_qp */
#define UROCE_LOG2_MAX_MR 16		/* default, changed by uroce_port_conf.log2_max_mr */
#define UROCE_LOG2_LIMIT_QP 18		/* the most that a device can be opened with */
#define UROCE_LOG2_LIMIT_MR 22
#define UROCE_MAX_PD 65536
#define UROCE_MAX_CQ 65536		/* default, changed by uroce_port_conf.max_cq */
#define UROCE_LIMIT_CQ (1 << 20)
#define UROCE_MAX_AH 65536
#define UROCE_DESTROY_POLLS 256		/* most polls that let a destroyed UD or UC QP send queued messages */
#define UROCE_PATH_WAIT_POLLS 10000	/* polls that wait for the MAC of a new path: a second, as in Linux */
#define UROCE_PATH_WAIT_PAUSE_NS 100000	/* pause between two such polls */
#define UROCE_MAX_MCAST_GROUPS 1024	/* per device */
#define UROCE_MAX_MCAST_QPS 64		/* per group: most copies of a packet */
#define UROCE_LOG2_MCAST_BUCKETS 8
#define UROCE_MCAST_BUCKETS (1 << UROCE_LOG2_MCAST_BUCKETS)
#define UROCE_MAX_CQE (1 << 22)
#define UROCE_MAX_QP_WR 32768
#define UROCE_LOG2_MAX_SRQ 14
#define UROCE_MAX_SRQ_WR (1 << 20)
#define UROCE_MAX_XRCD 16384		/* open XRC domains, per device */
#define UROCE_MAX_SGE 16
/* The largest size of struct uroce_qp. On arm64 it is larger, because DPDK assumes cache lines of 128 bytes there, and
 * fields that different threads write are on separate lines. */
#if RTE_CACHE_LINE_SIZE == 128
#define UROCE_QP_BYTES 1792
#define UROCE_QP_BYTES_WHY "struct uroce_qp exceeds 1792 bytes: raise UROCE_QP_BYTES, and run the test footprint"
#else
#define UROCE_QP_BYTES 1408
#define UROCE_QP_BYTES_WHY \
	"struct uroce_qp exceeds 1408 bytes, and a QP with its rings 2 KiB: raise UROCE_QP_BYTES, and run the test " \
	"footprint"
#endif
#define UROCE_MAX_INLINE_BYTES 512
#define UROCE_MAX_MR_BYTES (1ull << 46)
#define UROCE_MAX_MSG_BYTES (1u << 31)	/* C9-94 */
#define UROCE_MAX_RD_ATOMIC 128		/* as initiator and as target, per QP */
#define UROCE_MAX_GID 64
#define UROCE_MAX_QUEUED_EVENTS (1 << 18)	/* unread events, per channel and per device */
#define UROCE_MAX_WORKERS 64
#define UROCE_MAX_STRUCT_BYTES 4096	/* largest `size` in a public struct */
#define UROCE_MAX_DEVICES 32

/* Memory */
#define UROCE_FLUSH_BYTES (1u << 20)	/* most bytes that a FLUSH makes persistent in one turn of its QP */
#define UROCE_NULL_BYTES 4096		/* longest access to a null MR: a packet's payload */
#define UROCE_MR_WAIT_TELL_NS 1000000000ull	/* a deregistration that waits this long for mbufs is logged */
#define UROCE_MR_WAIT_MAX_NS 10000000000ull	/* uroce_dereg_mr() times out: later than an unanswered neighbor */
#define UROCE_RECLAIM_LOOKS 64		/* objects waiting to be freed that one poll checks */
#define UROCE_CLEANUP_NS 10000ull	/* interval at which ports free sent mbufs while a deregistration waits */
#define UROCE_WORKER_LEFT_NS 10000000ull	/* a worker that was not polled for this long has no owner */
#define UROCE_GIVE_BACK_LOOKS 100	/* most polls for drivers in a burst, before DPDK frees memory in use */
#define UROCE_GIVE_BACK_PAUSE_NS 100000	/* pause between two such polls */
#define UROCE_IOVA_SCAN_PAGES 16	/* a larger region of EAL's pages is not checked for consecutive IOVAs */
#define UROCE_RANDOM_WORDS 32		/* 64-bit words that a thread reads from getrandom(2) at a time */

/* Requester and responder */
#define UROCE_LOG2_WINDOW 8		/* default, changed by uroce_port_conf.log2_window */
#define UROCE_MIN_LOG2_WINDOW 5		/* a window has packets with AckReq, one in UROCE_ACK_REQ_PACKETS */
#define UROCE_MAX_LOG2_WINDOW 13	/* a SACK has 16 bits for a PSN of the reorder buffer */
#define UROCE_WINDOW_PACKETS (1 << UROCE_LOG2_WINDOW)	/* unacknowledged request PSNs per QP */
#define UROCE_ACK_REQ_PACKETS 32	/* interval of AckReq within a message, in packets */
#define UROCE_UC_MAX_WRONG_KEYS 4096	/* wrong keys after which a UC QP fails; an RC QP fails at the first */
#define UROCE_BELLS 256			/* posts of a thread domain between two polls that need no atomic operation; a
					 * power of two */
#define UROCE_SEND_QUANTUM 32		/* packets that a QP may send in one turn */
#define UROCE_LOG2_BUDGETS 6		/* budgets of a worker, one for each peer; two peers may share one */
#define UROCE_BUDGETS (1 << UROCE_LOG2_BUDGETS)
#define UROCE_BUDGET_PACKETS 256	/* first limit of the packets in flight to a peer, of all QPs of a worker */
#define UROCE_MIN_BUDGET_PACKETS 64
#define UROCE_MAX_BUDGET_PACKETS (1 << 22)
#define UROCE_BUDGET_BYTES 1024		/* least message whose packets count */
#define UROCE_BUDGET_KEEP_NS 250000000ull	/* least time between two searches for a limit */
#define UROCE_BURST 32			/* frames per RX or TX burst */
#define UROCE_BURST_FULL 16		/* an RX burst of this size may have left frames in the ring */
#define UROCE_BATCH_BYTES 8192		/* payload per batch of ICRC and placement: stays in the L1 cache */
#define UROCE_TX_INLINE_BYTES 256		/* largest payload that shares the header's mbuf */
#define UROCE_ZERO_COPY_SEGS 4		/* most external mbufs of a payload */
#define UROCE_MBUF_AHEAD 24		/* prefetch distance of mbufs, in allocations */
#define UROCE_MBUF_AHEAD_HEADERS 80	/* bytes of headers and ICRC that a prefetch of an mbuf assumes */
#define UROCE_RUN_PACKETS 2		/* least middle packets of a message that are built in bulk */
#define UROCE_RUN_AHEAD 4		/* bulk build: prefetch distance of mbufs, in packets */
#define UROCE_ZERO_COPY_BYTES 2048	/* least payload that is sent as external mbufs */

/* Loss recovery */
#define UROCE_LOG2_REORDER_WINDOWS 2	/* size of the reorder buffer in windows; also most in flight in recovery */
#define UROCE_REORDER_WINDOW (UROCE_WINDOW_PACKETS << UROCE_LOG2_REORDER_WINDOWS)	/* in PSNs; default */
#define UROCE_REORDER_FRAMES 2048		/* out-of-order frames that a worker keeps, for all of its QPs */
#define UROCE_MAX_REORDER_FRAMES 65534	/* the index of a frame has 16 bits */
#define UROCE_REORDER_QPS 256		/* QPs that a worker keeps frames for; peers of other QPs retransmit */
#define UROCE_REORDER_SPARE 16		/* a 16th of a pool, and two bursts, stay free to receive and send */
#define UROCE_REORDER_SPARE_FRAMES 8	/* interval of checks of the pool's level, in kept frames */
#define UROCE_REORDER_NS 100000000ull	/* without progress for this long, kept frames are dropped */
#define UROCE_SACK_RUNS 32		/* most runs of a SACK */
#define UROCE_RECOVERIES 256		/* QPs of a worker that recover selectively at a time; others go back N */
#define UROCE_RESENT (UROCE_WINDOW_PACKETS / 2)	/* retransmitted packets of a QP in flight, by default */
#define UROCE_RETRIES_AT_FULL_WINDOW 1	/* retries in a row without progress before the window shrinks */
#define UROCE_RETRY_WINDOW 8		/* PSNs in flight after more retries, until there is progress */
#define UROCE_PROBE_MIN_NS 200000ull	/* least delay of a probe */
#define UROCE_PROBE_INITIAL_NS 10000000ull	/* delay of a probe before the round trip is known, or after long silences */
#define UROCE_PROBE_FORGET_NS 10000000000ull	/* time until a silence of a slow peer is forgotten */

/* Congestion control: of an engine, and the defaults of struct uroce_congestion */
#define UROCE_RATES 1024		/* QPs of a worker with a rate limit at a time; CNPs for others are dropped */
#define UROCE_CNPS 32			/* CNPs waiting to be sent, per worker */
#define UROCE_BACKOFF_BURST_NS 32000ull	/* most credit of a paced QP, as time at its rate */
#define UROCE_BACKOFF_LOOK_NS 500000ull	/* longest interval between two updates of a QP's rate */
#define UROCE_BACKOFF_ASLEEP_NS 100000000ull	/* a longer gap between updates does not increase the rate */
#define UROCE_BACKOFF_FRAME_BYTES 24	/* preamble, FCS and gap of an Ethernet frame */
#define UROCE_CNP_INTERVAL_US 50	/* between two CNPs of a QP */
#define UROCE_CNP_DSCP 48		/* CS6 */
#define UROCE_RPG_MAX_RATE 100000	/* Mb/s, if the port's speed is unknown */
#define UROCE_RPG_MIN_RATE 10		/* Mb/s */
#define UROCE_RPG_AI_RATE 40
#define UROCE_RPG_HAI_RATE 200
#define UROCE_RPG_THRESHOLD 5
#define UROCE_RPG_TIME_RESET_US 55
#define UROCE_RPG_BYTE_RESET 10000000
#define UROCE_RPG_MIN_DEC_FAC 50	/* % */
#define UROCE_RATE_REDUCE_MONITOR_PERIOD_US 4
#define UROCE_DCE_TCP_G 1020		/* of 1024: part of alpha that an update keeps */
#define UROCE_DCE_TCP_RTT_US 55
#define UROCE_INITIAL_ALPHA_VALUE 1024	/* of 1024 */
#define UROCE_CONGESTION_MAX_RATE 1000000	/* Mb/s, of a parameter */
#define UROCE_CONGESTION_MAX_US 1000000		/* of a parameter */

/* rdma_cm */
#define UROCE_CMA_RESPONSE_TIMEOUT 20	/* 4.096 us << 20: between retransmissions of a request */
#define UROCE_CMA_MAX_RETRIES 15
#define UROCE_CMA_SIDR_TIMEOUT_MS 4295	/* UROCE_CMA_RESPONSE_TIMEOUT in ms */
#define UROCE_CMA_PACKET_LIFE_TIME 18	/* 4.096 us << 18, as in Linux for RoCE */
#define UROCE_CMA_HOP_LIMIT 64
#define UROCE_CMA_PKEY 0xffff
#define UROCE_CMA_QKEY 0x01234567	/* RDMA_UDP_QKEY, of QPs and groups of RDMA_PS_UDP */
#define UROCE_CMA_MCAST_QPN 0xffffff
#define UROCE_CMA_MAX_QPN 0xffffff
#define UROCE_CMA_FIRST_PORT 32768	/* first ephemeral port, for IDs that do not request one */
#define UROCE_CMA_LAST_PORT 60999
#define UROCE_CMA_PORT_BUCKETS 4096	/* of the table of ports in use */
#define UROCE_CMA_MAX_BACKLOG 16384	/* unread requests of a listener */
#define UROCE_CMA_RESOLVE_NS 10000000ull	/* between two checks whether a neighbor is resolved */
#define UROCE_CMA_EP_TIMEOUT_MS 2000	/* of address and route resolution by rdma_create_ep(3) */

/* Wire */
#define UROCE_HOP_LIMIT 64		/* of a CNP, and of an address vector with hop limit 0 */
#define UROCE_COPY_LONG_BYTES 512	/* least payload that is not copied by memcpy() */
#define UROCE_ICRC_COPY_BYTES 128	/* largest copy of masked headers for the ICRC */

/* Attributes of a device that are not limits */
#define UROCE_LOCAL_CA_ACK_DELAY 15	/* 4.096 us << 15: a busy application may not poll for this long */

/* Timers */
#define UROCE_TICK_NS 4096		/* granularity of the timer wheel and of the timeout attribute */

/* Ports */
#define UROCE_PORT_MTU 4200		/* default Ethernet MTU: path MTU 4096 fits */
#define UROCE_MIN_PATH_MTU 256
#define UROCE_MAX_PATH_MTU 4096
#define UROCE_MTU_OVERHEAD 84		/* IPv6, UDP, BTH, RETH, ImmDt and ICRC of a packet */
#define UROCE_RX_DESC 1024
#define UROCE_TX_DESC 1024
#define UROCE_MEMIF_REGIONS 4		/* memory regions that a memif client shares */
#define UROCE_MEMIF_REGION_BYTES (1ull << 30)	/* largest region */
#define UROCE_MEMIF_RINGS UROCE_MAX_WORKERS	/* rings of a connection in each direction */
#define UROCE_MEMIF_FRAME_SLOTS 64	/* most slots of a ring for a frame */
#define UROCE_MEMIF_COPY_BYTES 128	/* first bytes of a frame, with all headers, that are copied from the ring */
#define UROCE_MEMIF_STEP 4		/* a burst of long frames is published after each so many */
#define UROCE_MEMIF_WINDOWS 16		/* most address ranges that a peer shows to a port */
#define UROCE_MEMIF_WINDOW_BYTES (1ull << 40)	/* largest such range */
#define UROCE_MEMIF_HELD 256		/* most frames of a ring that are held until the peer has read their payloads */
#define UROCE_MEMIF_HELD_PART 24	/* and at most 1/24 as many as their pool has mbufs; each has three */
#define UROCE_MEMIF_SHOW_US 1000	/* between two attempts to show memory to a peer whose socket is full */
#define UROCE_MEMIF_LONG_BYTES 4096	/* a burst is long if its two middle frames have so many bytes together */
#define UROCE_RX_MBUFS 2047		/* least number per queue, in addition to UROCE_REORDER_FRAMES */
#define UROCE_MIN_RX_MBUFS 127		/* least value of uroce_port_conf.rx_mbufs */
#define UROCE_HEADER_MBUFS 16383	/* per worker: many, so that their lines have left the peer's cache */
#define UROCE_MIN_HEADER_MBUFS 511	/* a few bursts, each frame of up to five mbufs */
#define UROCE_PAYLOAD_MBUFS 2047	/* per worker: few, so that they stay in cache */
#define UROCE_MIN_PAYLOAD_MBUFS 127
#define UROCE_MAX_POOL_MBUFS ((1 << 20) - 1)	/* of each pool of a worker */
#define UROCE_MAX_WORKER_QPS (1 << UROCE_LOG2_LIMIT_QP)	/* QPs of a worker that have a record of some kind */
#define UROCE_MBUF_CACHE 512		/* EAL's maximum: enough for a window of mbuf chains */
#define UROCE_INBOX 512			/* slots of a worker's inbox for each other worker that hands frames over to it */
#define UROCE_MAX_INBOX 4096		/* most slots that an inbox of default size gets with many workers */
#define UROCE_MIN_INBOX_FRAMES 31
#define UROCE_MAX_INBOX_FRAMES 65535
#define UROCE_INBOX_SPARE 32		/* a 32nd of a pool stays free when frames are handed over, to receive */
#define UROCE_HANDOVER_STALL_NS 100000000ull	/* after this long, frames for a worker with a full inbox are dropped */
#define UROCE_MAX_RETA 2048		/* entries of a port's RSS redirection table */
#define UROCE_STEER_DRAWS 16		/* most draws of a QPN that suits RSS, for each queue of the port */
#define UROCE_STEER_RULES 512		/* flow rules of a port */
#define UROCE_STEER_NOTES 16		/* QPs that a queue notes for flow rules, before they are made */
#define UROCE_STEER_NS 100000000ull	/* interval at which flow rules are made */
#define UROCE_RX_AHEAD 4		/* prefetch distance of a packet's QP, in frames */
#define UROCE_RX_AHEAD_MIN_BYTES 128	/* least payload of which more than the first line is prefetched */
#define UROCE_RX_AHEAD_MAX_BYTES 1088	/* most prefetched bytes of a payload: the processor itself fetches the rest */
#define UROCE_ACK_DEFER_PACKETS 4	/* a larger burst is acknowledged at once, for throughput */
#define UROCE_ACK_RING_SIZE 256		/* ring of the QPs of a worker that owe an ACK; a power of 2 */
#define UROCE_ACK_REPLIES 16		/* QPs of a worker whose ACK waits for the application's reply */
#define UROCE_ACK_REPLY_NS 100000ull	/* longest wait of such an ACK */
#define UROCE_HOLD_TURNS 4096		/* turns for which a message waits for the owed ACKs before it */
#define UROCE_REPLY_SCORE 32		/* score from which ACKs wait: WRITEs replied to within UROCE_ACK_REPLY_NS */
#define UROCE_REPLY_SCORE_MAX 128	/* highest score; a WRITE without a reply halves it */
#define UROCE_POLL_BURSTS 4		/* bursts sent in one poll; one is received from each queue */
#define UROCE_SETTLE_POLLS 1000		/* empty polls of a CQ by one thread, after which it gets the CQ's QPs */
#define UROCE_FEEDER_ROUNDS 4		/* rounds between checks of the worker that hands frames to a thread's own */
#define UROCE_FEEDER_NS 1000ull		/* a check polls that worker if no thread has polled it for this long */
#define UROCE_HELP_ROUNDS 32		/* interval of checks of the other workers, one at a time, in rounds */
#define UROCE_HELP_NS 20000ull		/* such a check polls the worker if no thread has polled it for this long */
#define UROCE_HELP_IDLE_NS 100000000ull	/* a worker without frames for this long is idle */
#define UROCE_POLL_YIELD_NS 20000ull	/* a thread that polls an empty CQ for this long yields */
#define UROCE_POLL_SHARED_NS 100000000ull	/* threads that poll a worker by turns within this time do not yield */
#define UROCE_ROUND_MAX_NS 1000000ull	/* time of a round beyond this does not count as its work */
#define UROCE_ROUND_LATE_NS 200000ull	/* UROCE_PROBE_MIN_NS: a round is late this long after the one before */
#define UROCE_WAIT_POLL_NS 1000000ull	/* longest sleep of a worker that received frames do not wake */
#define UROCE_WAIT_LEAST_NS 20000ull	/* a worker does not sleep if its next deadline is as close as this */
#define UROCE_LINK_POLL_NS 250000000ull	/* interval at which a port's link is checked */
#define UROCE_MOVE_TX_NS 50000		/* a QP that moves waits at most this long for the port to accept its frames */
#define UROCE_BOND_MEMBERS 16		/* most members of bonding devices that are watched, per port */
#define UROCE_BOND_INTRODUCTIONS 3	/* announcements after a change of a member's link, one in each check of the
					 * link: the driver may fail over after uroce has seen the change */
#define UROCE_TX_STALL_NS 100000000	/* after this long, frames for a port that accepts none are dropped */
#define UROCE_TX_KICK_WAIT_NS 10000000ull	/* delay of dummy frames, which make a port free sent mbufs */
#define UROCE_TX_KICK_NS 100000ull	/* first interval of bursts of dummy frames */

/* Ports on UDP sockets (net_uroce_udp) */
#define UROCE_UDP_PREFIX "net_null-"	/* of the name of its ethdev: a net_null device carries its frames */
#define UROCE_UDP_LOCALS 4		/* most local addresses of a port */
#define UROCE_UDP_SEGMENTS 64		/* most packets of a message: UDP_MAX_SEGMENTS of older kernels */
#define UROCE_UDP_MESSAGE_BYTES 65487	/* most bytes of a message, over IPv4 and IPv6 */
#define UROCE_UDP_TX_MESSAGES 16	/* most messages of a sendmmsg(2) */
#define UROCE_UDP_TX_IOVS 512		/* most runs of bytes of all these messages */
#define UROCE_UDP_RX_MESSAGES 4		/* most messages of a recvmmsg(2) */
#define UROCE_UDP_RX_SEGMENTS 128	/* most packets of a received message: UDP_MAX_SEGMENTS */
#define UROCE_UDP_MIN_UNIT 1024		/* least packet size for which messages are received in place */
#define UROCE_UDP_BUFFER_BYTES (8 << 20)	/* of each socket buffer, as far as the kernel permits */

/* ARP, neighbor discovery, ICMP */
#define UROCE_MAX_NEIGHBORS 1024	/* per device: default, changed by uroce_port_conf.max_neighbors */
#define UROCE_MIN_NEIGHBORS 8		/* minimum of rte_hash */
#define UROCE_LIMIT_NEIGHBORS (1 << 18)
#define UROCE_NEIGHBOR_PENDING 32	/* frames that wait for the same address */
#define UROCE_NEIGHBORS_PENDING 128	/* frames that wait for any address of a device: a small part of a pool */
#define UROCE_NEIGHBOR_PROBES 5	/* unanswered probes before the frames are dropped */
#define UROCE_NEIGHBOR_PROBE_NS 250000000ull	/* from the first probe to the second; doubles with each probe */
#define UROCE_NEIGHBOR_AGE_NS 60000000000ull	/* an older entry is probed again */
#define UROCE_NEIGHBOR_WANTED_NS 2000000000ull	/* lifetime of an entry that no path uses */
#define UROCE_MAX_PINGS 16		/* outstanding, per device */
#define UROCE_PING_BYTES 56

/* Telemetry */
#define UROCE_TELEMETRY_PAGE 256	/* numbers in a reply: ten digits each fit into rte_telemetry's 16 KiB */
#define UROCE_TELEMETRY_TOP 16		/* QPs in a list of the QPs with the highest counts */
#define UROCE_TELEMETRY_WAIT_NS 100000000ull	/* longest wait for a worker's turn */

/* netem */
#define UROCE_NETEM_LIMIT 4096		/* default of the most delayed frames, per queue */
#define UROCE_NETEM_MAX_LIMIT (1 << 20)
#define UROCE_NETEM_SPARE 1023		/* mbufs for copies that the application has received and not freed yet */
#define UROCE_NETEM_MAX_BURST 65536	/* largest mean length of a run of lost frames */
#define UROCE_NETEM_REORDER_NS 20000	/* default of the additional delay of a reordered frame */
#define UROCE_NETEM_LEAVE_MS 1000	/* longest wait of a detach for copies to be freed */

/* QP1 and thread of connection management */
#define UROCE_CM_RECVS 4096		/* received MADs that wait to be processed; further ones are dropped */
#define UROCE_CM_SENDS 1024		/* posted MADs that have not been sent */
#define UROCE_CM_BACKLOG 32768		/* MADs that wait to be posted */
#define UROCE_CM_ROUND 256		/* MADs processed while the lock is held */
#define UROCE_CM_POLL_NS 1000000ull	/* interval at which the thread polls workers that no other thread polls */
#define UROCE_CM_BUSY_POLL_NS 20000ull	/* this interval while the workers are busy */
#define UROCE_CM_BUSY_NS 5000000ull	/* a worker counts as busy for this long after a frame */
#define UROCE_CM_LEAVE_NS 100000000ull	/* longest wait for the last MADs to be sent when the service stops */

/* IGMP and MLD */
#define UROCE_GROUP_RECORDS 60		/* records per report, which fits into the minimum MTU of IPv6 */
#define UROCE_GROUP_REPEAT_NS 1000000000ull	/* longest time between two reports of a change */
#define UROCE_GROUP_OLD_REPEAT_NS 10000000000ull	/* longest time between them in IGMPv2 and MLDv1 */
#define UROCE_GROUP_OLD_QUERIER_NS 260000000000ull	/* timeout of an IGMPv1, IGMPv2 or MLDv1 querier */
#define UROCE_GROUP_MIN_DELAY_NS 10000000ull	/* least response delay, even if a query demands a shorter one */

/* The programs */
#define UROCE_APP_MAX_PORTS 8
#define UROCE_APP_MAX_ADDRESSES 32		/* --addr */
#define UROCE_APP_RING_FRAMES 1024		/* of the rings between the two ports of a single-process run */
#define UROCE_APP_NO_HUGE_MIB "1024"		/* EAL's own default, 64 MiB, is too small for a benchmark */

/* Connection management, per device */
#define UROCE_CM_MAX_CONNS (1 << 17)	/* including listeners, pending requests and TIMEWAIT */
#define UROCE_CM_MAX_HALF_OPEN (1 << 15)	/* connections that a peer has begun and not yet finished */
#define UROCE_CM_MAX_HALF_OPEN_GID (1 << 14)	/* half-open connections of one peer */
#define UROCE_CM_SOURCES 4096		/* counters of half-open connections, by a hash of the peer's GID */
#define UROCE_CM_HALF_OPEN_NS 120000000000ull	/* timeout of a REP without an RTU; Linux retries for 103 s */
#define UROCE_CM_HALF_OPEN_YIELD_NS 2000000000ull	/* at the limit, an older REP without an RTU is evicted */
#define UROCE_CM_MAX_LINGER (1 << 12)	/* SIDR replies kept for duplicate requests */
#define UROCE_CM_LINGER_NS 10000000000ull	/* lifetime of such a reply: rdma_cm of Linux retries after 4.1 s */
#define UROCE_CM_PROBE_NS 100000000ull	/* least interval between two probes of a connection that may be stale */
#define UROCE_CM_MIN_TIMEOUT 12		/* 4.096 us << it: least interval of retransmissions, whatever a peer says */
#define UROCE_CM_MAX_TIMEOUT 24		/* 4.096 us << it, 69 s: longest single wait */
#define UROCE_CM_MAX_SIDR_TIMEOUT_MS 60000
#define UROCE_CM_MRA_TIMEOUT 24		/* in an MRA: how long the peer shall wait for the application */

/* libibverbs.so.1, which takes its ports from UROCE_EAL_ARGS and their addresses from UROCE_ADDR */
#define UROCE_VERBS_EAL_ARGS 65		/* words, including uroce's own */
#define UROCE_VERBS_THREAD_NAME "uroce-progress"	/* the progress thread; at most 15 characters */
#define UROCE_VERBS_MEMIF_LOG "pmd.net.memif"	/* the driver's log */
#define UROCE_VERBS_FILES 32		/* file descriptors of a device and a program with a few channels */
#define UROCE_VERBS_PATH_BYTES 512	/* of a path below /sys */
#define UROCE_VERBS_BUSY_US 100		/* default of the time that a thread polls for frames before it sleeps */
#define UROCE_VERBS_MAX_BUSY_US 1000000
#define UROCE_VERBS_CROWDED_NS 20000ull	/* polling time before a sleep if CPUs are oversubscribed */
#define UROCE_VERBS_MIN_SLEEP_NS 20000ull	/* first sleep: the cost of a timer in a virtual machine */
#define UROCE_VERBS_SLEEP_PART 8	/* later sleeps: this part of the time since the last frame */
#define UROCE_VERBS_MAX_SLEEP_NS 1000000ull	/* longest sleep */
#define UROCE_VERBS_SPARED_NS 16000000ull	/* cap of the time that the application is taken to have polled */
#define UROCE_VERBS_IDLE_NS 1000000000ull	/* idle after this long without a frame */
#define UROCE_VERBS_IDLE_SLEEP_NS 8000000ull	/* longest sleep after UROCE_VERBS_IDLE_NS without a frame */
#define UROCE_VERBS_NAP_NS 50000ull	/* a post does not end a sleep this short */
#define UROCE_VERBS_POLLED_NS 20000ull	/* a round this recent shows that the application is polling */
#define UROCE_VERBS_YIELDED_NS 100000ull	/* the progress thread waits so long for a thread that yields */
#define UROCE_VERBS_GAP_INTERVAL_NS 2000000ull	/* interval in which the application's polls are counted */
#define UROCE_VERBS_GAP_POLLS 8		/* fewer polls in such an interval are not steady */
#define UROCE_VERBS_GAP_FACTOR 4	/* the longest gap between steady polls, in average gaps */
#define UROCE_VERBS_REACTOR_GAP_NS 3000000ull	/* a program with EAL may leave such a gap between steady polls */
#define UROCE_VERBS_CROWD_NS 10000000ull	/* between two reads of the number of runnable threads */
#define UROCE_VERBS_SPINS 16		/* pauses between two checks whether the application polls */
#define UROCE_VERBS_LEAST_CQE 64	/* least entries of a CQ, if the program requests fewer */
#define UROCE_VERBS_LOOKS 16		/* empty polls per check of the file descriptor */
#define UROCE_VERBS_PEER_WAIT_MS 10000	/* longest wait for the other process of a pair to open its port */
#define UROCE_VERBS_PEER_STEP_MS 10	/* between two checks for that process */
#define UROCE_VERBS_LINK_WAIT_MS 1500	/* longest wait for a port's link: Linux reports some after a second */
#define UROCE_VERBS_FIRST_LINK_WAIT_MS 50	/* first timeout of a net_memif connection; doubles with each retry */
#define UROCE_VERBS_LAST_LINK_WAIT_MS 1600	/* last timeout of a net_memif connection */
#define UROCE_VERBS_REJOIN_US 100000	/* between two checks for a process that replaces an exited peer */
#define UROCE_VERBS_REJOINS 5		/* connection attempts to it, after 1, 2, 4, ... of these intervals */
#define UROCE_VERBS_RING_MAX (1 << 14)	/* slots of net_memif's longest ring */
#define UROCE_VERBS_HANG_UP_PAUSES 5000	/* at exit: longest wait for disconnects to be sent, in pauses */
#define UROCE_VERBS_LEAVE_PAUSES 1000	/* at exit: longest wait for the peer to read the last frames, in pauses */
#define UROCE_VERBS_LEAVE_PAUSE_NS 1000000	/* length of these pauses */
#define UROCE_VERBS_LINGER_NS 20000000ull	/* at exit: wait for the last frames, if the driver is not net_memif */
#define UROCE_UCMA_MAX_BYTES 1024u	/* of a reply of the rdma_cm device, and of an option */
#define UROCE_UCMA_MAX_HANDLES (1u << 16)	/* IDs and groups of the rdma_cm device: the limit of librdmacm */

/* uroce-rping */
#define UROCE_RPING_PORT 7174
#define UROCE_RPING_SIZE 64			/* default of the bytes of a ping */
#define UROCE_RPING_MIN_SIZE 26			/* as rping: a number and a letter fit */
#define UROCE_RPING_MAX_SIZE 65535		/* as rping */
#define UROCE_RPING_BUFFER_BYTES 65536
#define UROCE_RPING_BACKLOG 128			/* clients that wait to be accepted */
#define UROCE_RPING_RESOLVE_MS 2000
#define UROCE_RPING_PROBE_S 5			/* without a message before the peer is probed */
#define UROCE_RPING_LEAVE_S 5			/* longest wait for the peer to confirm a disconnect */
#define UROCE_RPING_LINGER_MS 100		/* wait for the confirmation to reach the peer */

/* uroce-switch */
#define UROCE_SWITCH_PORTS 32			/* RTE_MAX_ETHPORTS of Debian's DPDK */
#define UROCE_SWITCH_DEFAULT_PORTS 8
#define UROCE_SWITCH_STATIONS 4096		/* learned addresses; frames for other addresses are flooded */
#define UROCE_SWITCH_AGE_NS 300000000000ull	/* aging time of a learned address, the default of 802.1Q */
#define UROCE_SWITCH_FRAME_BYTES 9216		/* longest frame */
#define UROCE_SWITCH_QUEUE 512			/* frames that wait for a port; further ones are dropped */
#define UROCE_SWITCH_QUEUE_SHARE 384		/* of these frames, the most from one source port */
#define UROCE_SWITCH_SLOTS 1024			/* slots of the queue: those beyond are for departure frames */
#define UROCE_SWITCH_MARK 64			/* least length of the queue at which ECN-capable frames are marked */
#define UROCE_SWITCH_DESC 256			/* of an ethdev's queues */
#define UROCE_SWITCH_WATCH_NS 1000000ull	/* interval at which links are checked */
#define UROCE_SWITCH_YIELD_NS 1000000ull	/* after the last frame, yield for this long before sleeping */
#define UROCE_SWITCH_CROWDED_NS 100000ull	/* a yield this long shows that the CPU is oversubscribed */
#define UROCE_SWITCH_CROWD_NS 1000000000ull	/* for this long after it, sleep instead of yielding */
#define UROCE_SWITCH_WAKE_NS 1000000ull		/* first timeout of a sleep: a client may not wake the switch yet */
#define UROCE_SWITCH_WAIT_NS 100000000ull	/* later timeouts of a sleep */
#define UROCE_SWITCH_NAP_NS 50000ull		/* with ethdevs, which cannot wake the switch: timeout of a sleep */
#define UROCE_SWITCH_IDLE_NS 1000000000ull	/* with ethdevs: idle after this long without a frame */
#define UROCE_SWITCH_SLEEP_NS 1000000ull	/* with ethdevs: timeout of a sleep while idle */
#define UROCE_SWITCH_SLICE_NS 100000ull		/* Linux's shortest time slice, for an early turn */
#define UROCE_SWITCH_LOCK_NAPS 100		/* attempts to lock the directory, which others lock briefly */
#define UROCE_SWITCH_LOCK_NAP_NS 10000000l	/* between two attempts */
#define UROCE_SWITCH_GUESTS 64			/* connections without a port yet; another one replaces the oldest */
#define UROCE_SWITCH_GREET_NS 5000000000ull	/* timeout of a connection without a port */
#define UROCE_SWITCH_EVENTS 64			/* events of connections that one poll handles */
#define UROCE_SWITCH_MESSAGES 16		/* messages of a connection that one poll handles */
#define UROCE_SWITCH_PASSED 253			/* descriptors in a message, the kernel's maximum */
#define UROCE_SWITCH_SAY_NS 1000000000ull	/* least interval of log messages about clients */
#define UROCE_SWITCH_RINGS 16			/* rings of a client, in each direction */
#define UROCE_SWITCH_CLIENT_STATIONS 64		/* learned addresses at a client's port */
#define UROCE_SWITCH_PORT_MIB 12		/* EAL's memory for each port, without hugepages */
#define UROCE_SWITCH_BASE_MIB 64		/* EAL's memory beside the ports, without hugepages */

/* uroce-perf */
#define UROCE_PERF_MAX_QPS 65536
#define UROCE_PERF_MAX_SIZE (1u << 30)		/* bytes of one message */
#define UROCE_PERF_MAX_TIME_S 86400
#define UROCE_PERF_MIN_STATS_S 0.1		/* --stats-period */
#define UROCE_PERF_ALL_SIZES_LOG2 23		/* --size all: 1 B to 8 MiB */
#define UROCE_PERF_BUFFER_BYTES (64u << 20)	/* message buffers of one end; each QP has at least one */
#define UROCE_PERF_WINDOW_BYTES (1u << 20)	/* message buffers of one QP: stays in cache */
#define UROCE_PERF_VERIFY_WINDOW_BYTES (8u << 20)	/* with --verify, which checks each before its reuse */
#define UROCE_PERF_BATCH 16			/* work requests posted at once, the last one signaled */
#define UROCE_PERF_BATCH_BYTES 8192		/* least size of messages that are posted one by one */
#define UROCE_PERF_INLINE_BYTES 32		/* largest message that is posted inline */
#define UROCE_PERF_LOSSY_RECEIVES 1024		/* least receives of a UC or UD QP */
#define UROCE_PERF_LOSSY_WINDOW 256		/* least window of a UC or UD QP: messages without a credit */
#define UROCE_PERF_LOST_MS 100			/* UC, UD: time without a message before the peer is asked */
#define UROCE_PERF_LOSS_WINDOW 4096		/* longest run of losses that is not taken for wrong messages */
#define UROCE_PERF_OOB_PORT 18515
#define UROCE_PERF_CM_PORT 18515		/* of RDMA_PS_TCP */
#define UROCE_PERF_CM_CHUNKS 64			/* lines in flight, in each direction */
#define UROCE_PERF_CM_CONNECT_MS 20000		/* timeout of a connection request, with its retries */
#define UROCE_PERF_CM_CLOSE_MS 1000		/* timeout of a disconnect */
#define UROCE_PERF_OOB_TIMEOUT_MS 10000		/* timeout of a reply, and of a keep-alive */
#define UROCE_PERF_OOB_FAILED_MS 1000		/* timeout of the reply after a failed run */
#define UROCE_PERF_OOB_LINE_BYTES 512
#define UROCE_PERF_LEAVE_MS 100			/* from the client's end to the closing of the server's port */
#define UROCE_PERF_STALL_S 10			/* a run without a completion or credit fails after this long */
#define UROCE_PERF_COMMAND_BYTES 512		/* of a command of the prompt or of --cmdline-file */
#define UROCE_PERF_IDLE_US 1000			/* between two polls of the prompt's main thread, while no test runs */
#define UROCE_PERF_IDLE_LOOKS 50		/* interval of checks of the peer, in such polls */
#define UROCE_PERF_COUNTERS 256			/* most counters of a port that are shown */
#define UROCE_PERF_SHOWN_QPS 16			/* QPs that are shown, unless the user asks for all */
#define UROCE_PERF_SLOW_BYTES_S 10000000	/* speed of the slowest link: large messages may take longer */


/* uroce-nvmf */
#define UROCE_NVMF_PORT 4420
#define UROCE_NVMF_MAX_NAMESPACES 64		/* a multiple of 64 */
#define UROCE_NVMF_MAX_BYTES (1ull << 56)	/* of a namespace */
#define UROCE_NVMF_BUSY_LOOKS 100		/* attempts to open a file that another process uses */
#define UROCE_NVMF_BUSY_US 10000		/* interval of these attempts */
#define UROCE_NVMF_BLOCK_SHIFT 9		/* log2 of the bytes of a block, unless the device's are larger */
#define UROCE_NVMF_MAX_QUEUES 65		/* of a controller, with the admin queue */
#define UROCE_NVMF_IO_QUEUES 16			/* default of --queues */
#define UROCE_NVMF_QUEUE_DEPTH 128		/* most entries of a queue */
#define UROCE_NVMF_MAX_CONTROLLERS 256
#define UROCE_NVMF_MAX_CONNECTIONS 1023		/* queues of all controllers */
#define UROCE_NVMF_MAX_HOSTS 64			/* --allow-host */
#define UROCE_NVMF_EVENTS 4			/* asynchronous event requests of a controller */
#define UROCE_NVMF_IN_CAPSULE_BYTES 8192	/* data of a command that come with it; two pages */
#define UROCE_NVMF_MDTS 5			/* log2 of the pages of the largest transfer */
#define UROCE_NVMF_BUFFER_BYTES (4096u << UROCE_NVMF_MDTS)
#define UROCE_NVMF_BUFFERS 64			/* of a poller; a command beyond them waits */
#define UROCE_NVMF_CQES 65536			/* of a poller's completion queue */
#define UROCE_NVMF_URING 1024			/* I/Os of a poller */
#define UROCE_NVMF_URING_BATCH 32		/* completions that a round takes */
#define UROCE_NVMF_LOOK_NS 1000000ull		/* interval at which a poller looks at requests of other threads */
#define UROCE_NVMF_STOPPED_NS 500000000ull	/* a poller whose look is so late was stopped, e.g. with its machine */
#define UROCE_NVMF_CONNECT_NS 10000000000ull	/* timeout of a connection without the command Connect */
#define UROCE_NVMF_KATO_GRACE_NS 1000000000ull	/* a keep-alive may be so late */
#define UROCE_NVMF_READY_500MS 15		/* CAP.TO: longest time until a controller is ready, in 500 ms */
#define UROCE_NVMF_IDLE_ROUNDS 1000		/* empty rounds of a single-lcore target before it yields */
#define UROCE_NVMF_LATENCIES 24			/* classes of the latency histogram: up to 2^22 us */
#define UROCE_NVMF_LOG_LINES 10			/* most lines of a kind that hosts cause in ... */
#define UROCE_NVMF_LOG_NS 1000000000ull		/* ... this interval */
#define UROCE_NVMF_AUTH_BYTES 4096		/* longest message of authentication */
#define UROCE_NVMF_LEAVE_S 3			/* at the end: longest wait for the hosts' connections to close */

#endif /* UROCE_CONFIG_H */

# SPDX-License-Identifier: BSD-3-Clause
# Copyright 2026 The uroce authors
"""Endpoint of DPDK's dpdk-telemetry-exporter.py: metrics of uroce's devices, workers and QPs for Prometheus.

The exporter loads this file, and prefixes each name with "dpdk_uroce_". The metric of a counter has the counter's name
and "_total", except for rows of LABELED. test/doc/metrics compares the tables with the code and a running process."""

import os

# A device with more QPs than this has metrics only for the QPs that retransmit most.
MOST_QPS = int(os.environ.get('UROCE_METRICS_QPS', '64'))
TOP = 'retransmitted_packets'
# The query of a QP fails after 100 ms if the QP's worker does not release its turn. After this number of failures, the
# other QPs of the device are left out, so that Prometheus does not time out.
MOST_FAILURES = 8

STATES = ('RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR')

# The descriptions of counters are those of doc/reference/counters.rst, which come from the comments of the code.
PORT = {
    'rx_frames': 'frames received',
    'tx_frames': 'frames sent',
    'tx_by_reference': 'of these, frames whose payload the peer reads from this process\'s memory',
    'loopback_frames': 'sent to a device of this process, not through a port',
    'steered': 'received for a QP of the queue\'s own worker',
    'handed_over': 'received for a QP of another worker',
    'rx_drop_socket': 'net_uroce_udp: no room in a socket\'s buffer, no mbuf, or longer than the MTU',
    'arp_answered': 'ARP requests answered',
    'nd_answered': 'neighbor solicitations answered',
    'echo_answered': 'ICMP and ICMPv6 echo requests answered',
    'probes_sent': 'ARP requests and neighbor solicitations',
    'group_queries': 'IGMP and MLD queries received',
    'group_reports_sent': 'IGMP and MLD reports sent',
    'group_deliveries': 'a multicast packet counts once for each QP that receives it',
    'fillers_sent': 'dummy frames, which make the driver free transmitted mbufs',
    'rules_installed': 'flow rules for QPs whose frames were handed over',
    'rules_evicted': 'flow rules removed to make room for others',
    'rules_refused': 'flow rules that the driver did not take, or for which all rules were in use',
}
TRANSPORT = {
    'sent_packets': 'packets handed to the port, retransmitted ones too',
    'sent_bytes': 'bytes of payload',
    'received_bytes': 'bytes of payload that were placed',
    'sent_acks': 'ACK packets',
    'rx_write_requests': 'WRITE messages',
    'rdma_sends': 'SENDs completed',
    'rdma_recvs': 'receive requests completed',
    'rx_read_requests': 'READs accepted',
    'rx_atomic_requests': 'atomics executed',
    'sent_naks': 'NAKs, without RNR NAKs',
    'sent_rnr_naks': 'RNR NAKs: no receive was posted',
    'sent_sacks': 'reports of the packets behind a gap',
    'retransmitted_packets': 'packets that were retransmitted',
    'timeouts': 'transport timeouts',
    'probes': 'probes sent before a transport timeout',
    'sent_asks': 'requests for SACKs',
    'sacks_received': 'SACKs received',
    'naks_received': 'NAKs received',
    'rnr_naks_received': 'RNR NAKs received: the peer has posted no receive',
    'zero_copy_packets': 'packets whose payload was sent without a copy',
    'no_mbuf': 'a pool was empty; the QP tries again',
    'cq_overruns': 'completion queues that overran',
    'np_ecn_marked_roce_packets': 'packets received with CE',
    'np_cnp_sent': 'CNPs sent',
    'rp_cnp_handled': 'CNPs that reduced a QP\'s rate',
    'rp_cnp_ignored': 'CNPs that slowed down no QP',
    'early_dropped': 'frames that left the reorder buffer without execution',
    'early_expired': 'frames of early_dropped that were kept for too long',
    'packet_seq_err': 'sequence NAKs received',
    'completer_retry_err': 'retries charged to a QP\'s retry_cnt',
    'req_cqe_error': 'send WQEs that failed or were flushed',
    'req_cqe_flush_error': 'send WQEs that were flushed',
    'req_remote_invalid_request': 'send WQEs with IBV_WC_REM_INV_REQ_ERR',
    'req_remote_access_errors': 'send WQEs with IBV_WC_REM_ACCESS_ERR',
    'req_transport_retries_exceeded': 'send WQEs with IBV_WC_RETRY_EXC_ERR',
    'req_rnr_retries_exceeded': 'send WQEs with IBV_WC_RNR_RETRY_EXC_ERR',
    'resp_cqe_error': 'receive WQEs that failed or were flushed',
    'resp_cqe_flush_error': 'receive WQEs that were flushed',
    'resp_local_length_error': 'receive WQEs that were too short',
}
CM = {
    'mads_received': 'MADs passed to the CM',
    'mads_sent': 'MADs posted',
    'cm_retransmitted': 'messages retransmitted',
    'cm_answered_again': 'duplicates answered with the last message',
    'cm_duplicate': 'duplicates received',
    'cm_half_open_evicted': 'half-open connections given up for newer ones',
    'cm_half_open_expired': 'half-open connections that timed out',
    'cm_departed': 'connections ended because the peer\'s process has ended',
}
QP = {
    'retransmitted_packets': 'packets that were retransmitted',
    'retries': 'charged to retry_cnt (R34)',
    'timeouts': 'transport timeouts',
    'probes': 'packets sent before a timeout, so that the peer answers',
    'rnr_naks_received': 'the peer had no receive',
    'rnr_naks_sent': 'this end had no receive',
    'sacks_received': 'reports of packets behind a gap',
    'sacks_sent': 'the same, sent to the peer',
    'cnps_received': 'the network has marked packets of this QP',
    'cnps_sent': 'marked packets have arrived',
    'packets_not_ok': 'packets received with another verdict than ok',
}
WORKER = {
    'rounds': 'polls of the worker',
    'busy_rounds': 'polls that found work',
    'late_rounds': 'polls that began 200 us or more after the poll before, although the thread did not sleep',
    'busy_cycles': 'TSC cycles of polls that found work',
    'total_cycles': 'TSC cycles since the worker started',
    'received_packets': 'packets received for a QP',
    'sent_packets': 'packets handed to the ports, retransmitted ones too',
    'received_bytes': 'bytes of payload that were placed',
    'sent_bytes': 'bytes of payload sent',
    'retransmitted_packets': 'packets that were retransmitted',
    'no_mbuf': 'failed allocations: a pool is too small',
    'steered': 'frames received for a QP of this worker',
    'handed_over': 'frames received for a QP of another worker',
    'lost': 'frames whose device is closed',
}

# Each group of counters is one metric with a label: a counter's name is the prefix with the value of the label.
LABELED = (
    # prefix of the key, metric, label, description
    ('tx_drop_', 'tx_drops', 'reason', 'frames that were not sent'),
    ('cm_sent_', 'cm_sent', 'message', 'CM messages sent'),
    ('cm_received_', 'cm_received', 'message', 'CM messages received'),
    ('cm_drop_', 'cm_drops', 'reason', 'CM messages dropped'),
    ('cm_rej_', 'cm_rejects', 'reason', 'connection requests rejected by the CM itself'),
    ('mad_drop_', 'mad_drops', 'reason', 'MADs dropped'),
    ('naks_received_', 'naks_received', 'code', 'NAKs received, by code'),
    ('naks_sent_', 'naks_sent', 'code', 'NAKs sent, by code'),
)
LABELED_OF_QP = ('naks_received', 'naks_sent')
# The counters of verdicts are one metric, with the label verdict.
VERDICT_PREFIXES = ('drop_', 'nak_')
VERDICTS = ('ok', 'cnp', 'duplicate', 'early', 'response_gap', 'bad_response')

DEVICE_GAUGES = {   # of /uroce/info
    'cqs': 'completion queues',
    'srqs': 'shared receive queues',
    'mrs': 'memory regions and windows',
    'pds': 'protection domains',
    'ahs': 'address handles',
    'flow_rules': 'flow rules of the port',
    'neighbors': 'hosts and routers on the link that the port knows',
    'memory_bytes': 'DPDK\'s memory of the device, without its objects',
}
WORKER_GAUGES = {
    'qps': 'QPs of the worker',
    'devices': 'devices that the worker serves',
    'latest_ns': 'longest time between two polls that counted in late_rounds; 0: none was',
    'recovering_qps': 'QPs in loss recovery',
    'rated_qps': 'QPs that congestion control has given a rate',
    'early_frames': 'out-of-order frames in the reorder buffer',
    'inbox': 'queued frames from other workers',
    'memory_bytes': 'DPDK\'s memory of the worker',
}
QP_GAUGES = {   # key: metric, factor, description
    'send_queue': ('send_queue', 1, 'posted send requests that are not complete'),
    'send_queue_size': ('send_queue_size', 1, 'capacity of the send queue'),
    'recv_queue': ('recv_queue', 1, 'posted receives that are not complete'),
    'recv_queue_size': ('recv_queue_size', 1, 'capacity of the receive queue, without an SRQ'),
    'outstanding': ('outstanding_packets', 1, 'packets sent and not acknowledged'),
    'window': ('window_packets', 1, 'limit of outstanding packets'),
    'retries_left': ('retries_left', 1, 'retries until the QP fails'),
    'rtt_ns': ('rtt_seconds', 1e-9, 'smoothed round trip; 0: not measured'),
    'rtt_variation_ns': ('rtt_variation_seconds', 1e-9, 'variation of the round trip'),
    'recovering': ('recovering', 1, '1 during loss recovery'),
    'early_frames': ('early_frames', 1, 'out-of-order frames that the responder keeps'),
    'rated': ('rated', 1, '1 if congestion control has given the QP a rate'),
    'rate_mbps': ('rate_bytes_per_second', 1e6 / 8, 'the rate, if there is one'),
    'target_mbps': ('target_rate_bytes_per_second', 1e6 / 8, 'the rate before the last reduction'),
    'alpha_permille': ('alpha_ratio', 1e-3, 'DCQCN\'s estimate of the share of marked packets'),
}

# Fields of telemetry that this file does not export.
LEFT_OUT = {
    '/uroce/info': ('name', 'port_id', 'queues', 'workers', 'addresses', 'groups',
                    'steering', 'flow_rule_kind', 'rx_mbufs', 'rx_desc', 'tx_desc',
                    'max_qp', 'max_mr', 'max_cq', 'max_neighbors', 'log2_window',
                    'qps'),             # with QP1, unlike the metric qps
    '/uroce/worker': ('worker', 'queues', 'waiting',      # asleep at this moment
                      'header_mbufs', 'payload_mbufs', 'inbox_frames', 'reorder_frames', 'log2_window'),
    '/uroce/qp': (
        'qpn', 'loopback', 'mtu', 'address', 'udp_source_port', 'srq', 'send_cq', 'recv_cq',
        'psn', 'unacked', 'rd_atomics', 'credits', 'rnr_retries_left', 'timer', 'timer_due_us', 'peer_kind',
        'expected_psn', 'msn', 'responses_owed', 'last_not_ok', 'last_not_ok_ms_ago',
        'error', 'error_ms_ago', 'error_status', 'error_verdict'),
    '/uroce/hw_counters': ('rcvd_pkts',),   # the sum of received_packets; others are sums of exported counters, too
}


def is_verdict(key):
    return key in VERDICTS or key.startswith(VERDICT_PREFIXES)


def info():
    """The exporter calls this: the descriptions and types of all metrics, by name."""
    found = {
        'device_info': ('1; the labels describe the device', 'gauge'),
        'link_up': ('1 if the link is up', 'gauge'),
        'mtu_bytes': ('MTU of the port', 'gauge'),
        'link_downed_total': ('how often the link went down', 'counter'),
        'received_packets_total': ('packets and frames received, by verdict', 'counter'),
        'qps': ('QPs by state', 'gauge'),
        'exported_qps': ('QPs with metrics of their own', 'gauge'),
        'worker_info': ('1; the labels describe the worker', 'gauge'),
        'qp_info': ('1; the labels describe the QP', 'gauge'),
        'qp_state': ('1 for the state that the QP is in', 'gauge'),
    }
    for prefix, counters in (('', PORT), ('', TRANSPORT), ('', CM), ('qp_', QP), ('worker_', WORKER)):
        found.update((f'{prefix}{key}_total', (text, 'counter')) for key, text in counters.items())
    for _, name, _, text in LABELED:
        found[f'qp_{name}_total' if name in LABELED_OF_QP else f'{name}_total'] = (text, 'counter')
    for prefix, gauges in (('', DEVICE_GAUGES), ('worker_', WORKER_GAUGES)):
        found.update((prefix + key, (text, 'gauge')) for key, text in gauges.items())
    found.update(('qp_' + name, (text, 'gauge')) for name, _, text in QP_GAUGES.values())
    return found


def counters(values, known, prefix, labels):
    """The samples of a dictionary of counters, without unknown ones, which a newer process may have."""
    for key, value in values.items():
        if key in known:
            yield f'{prefix}{key}_total', value, labels
            continue
        for start, name, label, _ in LABELED:
            if key.startswith(start) and (name in LABELED_OF_QP) == (prefix == 'qp_'):
                yield f'{prefix}{name}_total', value, {**labels, label: key[len(start):]}


def gauges(values, known, prefix, labels):
    """The samples of these gauges, without those that an older process does not have: one error loses all samples."""
    for key in known:
        if key in values:
            yield prefix + key, values[key], labels


def device_samples(sock, device):
    described = sock.cmd('/uroce/info', device)
    if described is None:       # the device was closed
        return
    labels = {'device': device}
    yield 'device_info', 1, {**labels, 'mac': described['mac'], 'vlan': described['vlan']}
    yield 'link_up', int(described.get('link') == 'up'), labels
    yield 'mtu_bytes', described['mtu'], labels
    yield from gauges(described, DEVICE_GAUGES, '', labels)
    stats = sock.cmd('/uroce/stats', device) or {}
    yield from counters(stats, {**PORT, **TRANSPORT}, '', labels)
    for key in filter(is_verdict, stats):
        yield 'received_packets_total', stats[key], {**labels, 'verdict': key}
    # null while connection management is not in use
    yield from counters(sock.cmd('/uroce/cm', device) or {}, CM, '', labels)
    linux = sock.cmd('/uroce/hw_counters', device) or {}
    if 'link_downed' in linux:
        yield 'link_downed_total', linux['link_downed'], labels


def worker_samples(sock, number):
    described = sock.cmd('/uroce/worker', number)
    if described is None:
        return
    labels = {'worker': number}
    yield 'worker_info', 1, {**labels, 'lcore': described['lcore'], 'numa_node': described['numa_node']}
    yield from counters(described, WORKER, 'worker_', labels)
    yield from gauges(described, WORKER_GAUGES, 'worker_', labels)


def listed_qps(sock, device):
    """All QPNs, if the device has at most MOST_QPS QPs; else those of the QPs that retransmit most."""
    page = sock.cmd('/uroce/qps', device)
    if page is None:
        return []
    if page['count'] > MOST_QPS:
        return (sock.cmd('/uroce/top', f'{device},{TOP}') or {'qps': []})['qps'][:MOST_QPS]
    qpns = page['qps']
    while 'next' in page and len(qpns) < MOST_QPS:
        page = sock.cmd('/uroce/qps', f'{device},{page["next"]}')
        if page is None:
            break
        qpns += page['qps']
    return qpns[:MOST_QPS]


def one_qp(described, device):
    labels = {'device': device, 'worker': described['worker'], 'qp': described['qpn']}
    yield 'qp_info', 1, {**labels, 'type': described['type'], 'peer': described['peer'],
                         'dest_qp': described['dest_qpn']}
    yield 'qp_state', 1, {**labels, 'state': described['state']}
    yield from counters(described, QP, 'qp_', labels)
    for key, (name, factor, _) in QP_GAUGES.items():
        if key in described:
            yield 'qp_' + name, described[key] * factor, labels


def qp_samples(sock, device):
    exported = failures = 0
    for qpn in listed_qps(sock, device):
        described = sock.cmd('/uroce/qp', f'{device},{qpn}')
        if described is None:       # the QP was destroyed
            continue
        if 'qpn' not in described:  # its worker did not release its turn
            failures += 1
            if failures == MOST_FAILURES:
                break
            continue
        exported += 1
        yield from one_qp(described, device)
    yield 'exported_qps', exported, {'device': device}
    for state in STATES:
        page = sock.cmd('/uroce/qps', f'{device},0,{state}')
        if page is not None:
            yield 'qps', page['count'], {'device': device, 'state': state}


def metrics(sock):
    """The exporter calls this at each scrape: tuples of name, value and labels."""
    found = []
    for number in sock.cmd('/uroce/worker') or []:
        found += worker_samples(sock, number)
    for device in sock.cmd('/uroce/list') or []:
        found += device_samples(sock, device)
        found += qp_samples(sock, device)
    return sorted(found, key=lambda sample: sample[0])      # all samples of a metric must follow each other

from collectors.metrics.catalogue import Metric
from collectors.metrics.detail import DETAIL, DETAIL_NAMES, FACTS
from collectors.metrics.hot import HOT, HOT_NAMES

# What redis_exporter reads of INFO and CLUSTER INFO. Three fields carry the name of the number that we make of
# them: rdb_last_bgsave_ok, master_link_up and cluster_state_ok; I/O threads' active time is kept as one sum.
READ_BY_REDIS_EXPORTER = """
    redis_version valkey_version redis_mode os process_id run_id tcp_port uptime_in_seconds hz configured_hz
    io_threads_active connected_clients maxclients client_recent_max_input_buffer
    client_recent_max_output_buffer blocked_clients tracking_clients pubsub_clients watching_clients
    clients_in_timeout_table total_watched_keys total_blocking_keys total_blocking_keys_on_nokey used_memory
    used_memory_rss used_memory_peak used_memory_overhead used_memory_startup used_memory_dataset
    allocator_allocated allocator_active allocator_resident allocator_muzzy total_system_memory used_memory_lua
    used_memory_vm_eval used_memory_scripts_eval used_memory_vm_functions used_memory_vm_total
    used_memory_functions used_memory_scripts number_of_cached_scripts number_of_functions number_of_libraries
    maxmemory maxmemory_policy maxmemory_reservation maxfragmentationmemory_reservation
    maxmemory_desired_reservation maxfragmentationmemory_desired_reservation allocator_frag_ratio
    allocator_frag_bytes allocator_rss_ratio allocator_rss_bytes mem_fragmentation_ratio mem_fragmentation_bytes
    mem_not_counted_for_evict mem_replication_backlog mem_total_replication_buffers mem_clients_slaves
    mem_clients_normal mem_cluster_links mem_aof_buffer mem_overhead_db_hashtable_rehashing
    active_defrag_running lazyfree_pending_objects lazyfreed_objects loading async_loading
    rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_save_time rdb_last_bgsave_ok
    rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec rdb_saves rdb_last_cow_size rdb_last_load_keys_expired
    rdb_last_load_keys_loaded aof_enabled aof_rewrite_in_progress aof_rewrite_scheduled
    aof_last_rewrite_time_sec aof_current_rewrite_time_sec aof_last_bgrewrite_status aof_last_write_status
    aof_last_cow_size aof_current_size aof_base_size aof_pending_rewrite aof_buffer_length
    aof_rewrite_buffer_length aof_pending_bio_fsync aof_delayed_fsync module_fork_in_progress
    module_fork_last_cow_size total_connections_received total_commands_processed total_net_input_bytes
    total_net_output_bytes total_net_repl_input_bytes total_net_repl_output_bytes rejected_connections sync_full
    sync_partial_ok sync_partial_err expired_subkeys expired_keys expired_stale_perc
    expired_time_cap_reached_count expire_cycle_cpu_milliseconds evicted_keys evicted_clients evicted_scripts
    total_eviction_exceeded_time current_eviction_exceeded_time keyspace_hits keyspace_misses pubsub_channels
    pubsub_patterns pubsubshard_channels latest_fork_usec migrate_cached_sockets slave_expires_tracked_keys
    active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses tracking_total_keys
    tracking_total_items tracking_total_prefixes unexpected_error_replies total_error_replies
    dump_payload_sanitizations total_reads_processed total_writes_processed io_threaded_reads_processed
    io_threaded_writes_processed client_query_buffer_limit_disconnections
    client_output_buffer_limit_disconnections reply_buffer_shrinks reply_buffer_expands eventloop_cycles
    eventloop_duration_sum eventloop_duration_cmd_sum instantaneous_eventloop_cycles_per_sec
    instantaneous_eventloop_duration_usec acl_access_denied_auth acl_access_denied_cmd acl_access_denied_key
    acl_access_denied_channel role connected_slaves master_host master_port master_link_up
    master_last_io_seconds_ago master_sync_in_progress slave_repl_offset slave_priority slave_read_only
    master_replid master_replid2 master_repl_offset second_repl_offset repl_backlog_active repl_backlog_size
    repl_backlog_first_byte_offset repl_backlog_histlen used_cpu_sys used_cpu_user used_cpu_sys_children
    used_cpu_user_children used_cpu_sys_main_thread used_cpu_user_main_thread used_active_time_main_thread
    used_active_time_io_threads cluster_enabled cluster_state_ok cluster_slots_assigned cluster_slots_ok
    cluster_slots_pfail cluster_slots_fail cluster_known_nodes cluster_size cluster_current_epoch
    cluster_my_epoch cluster_stats_messages_sent cluster_stats_messages_received keys expires avg_ttl
    cached_keys
"""


def test_it_keeps_every_field_that_redis_exporter_reads() -> None:
    kept = {*HOT_NAMES, *DETAIL_NAMES, *FACTS}

    assert [name for name in READ_BY_REDIS_EXPORTER.split() if name not in kept] == []


def test_it_names_each_metric_once() -> None:
    names = [*HOT_NAMES, *DETAIL_NAMES, *FACTS]

    assert len(names) == len(set(names))


def test_it_gives_each_metric_a_unit_and_a_meaning() -> None:
    def complete(metric: Metric) -> bool:
        return bool(metric.unit and metric.section and str(metric.meaning).endswith("."))

    assert [metric.name for metric in HOT + DETAIL if not complete(metric)] == []


def test_it_keeps_a_column_for_hot_metrics_only() -> None:
    assert all(metric.column for metric in HOT)
    assert not any(metric.column for metric in DETAIL)

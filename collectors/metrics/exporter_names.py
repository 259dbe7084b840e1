"""What redis_exporter calls the numbers of a sample: the names of /metrics/fleet and of rules for Prometheus."""

from collectors.metrics.hot import HOT

# Our column, redis_exporter's name and type.
NAMES = (
    ("uptime_in_seconds", "redis_uptime_in_seconds", "gauge"),
    ("connected_clients", "redis_connected_clients", "gauge"),
    ("maxclients", "redis_max_clients", "gauge"),
    ("maxclients", "redis_config_maxclients", "gauge"),
    ("blocked_clients", "redis_blocked_clients", "gauge"),
    ("tracking_clients", "redis_tracking_clients", "gauge"),
    ("pubsub_clients", "redis_pubsub_clients", "gauge"),
    ("client_recent_max_input_buffer", "redis_client_recent_max_input_buffer_bytes", "gauge"),
    ("client_recent_max_output_buffer", "redis_client_recent_max_output_buffer_bytes", "gauge"),
    ("used_memory", "redis_memory_used_bytes", "gauge"),
    ("used_memory_rss", "redis_memory_used_rss_bytes", "gauge"),
    ("used_memory_peak", "redis_memory_used_peak_bytes", "gauge"),
    ("used_memory_dataset", "redis_memory_used_dataset_bytes", "gauge"),
    ("used_memory_overhead", "redis_memory_used_overhead_bytes", "gauge"),
    ("maxmemory", "redis_memory_max_bytes", "gauge"),
    ("mem_fragmentation_ratio", "redis_mem_fragmentation_ratio", "gauge"),
    ("mem_clients_normal", "redis_mem_clients_normal", "gauge"),
    ("mem_not_counted_for_evict", "redis_mem_not_counted_for_eviction_bytes", "gauge"),
    ("total_commands_processed", "redis_commands_processed_total", "counter"),
    ("total_connections_received", "redis_connections_received_total", "counter"),
    ("rejected_connections", "redis_rejected_connections_total", "counter"),
    ("total_net_input_bytes", "redis_net_input_bytes_total", "counter"),
    ("total_net_output_bytes", "redis_net_output_bytes_total", "counter"),
    ("total_net_repl_input_bytes", "redis_net_repl_input_bytes_total", "counter"),
    ("total_net_repl_output_bytes", "redis_net_repl_output_bytes_total", "counter"),
    ("keyspace_hits", "redis_keyspace_hits_total", "counter"),
    ("keyspace_misses", "redis_keyspace_misses_total", "counter"),
    ("expired_keys", "redis_expired_keys_total", "counter"),
    ("evicted_keys", "redis_evicted_keys_total", "counter"),
    ("total_error_replies", "redis_total_error_replies", "untyped"),
    ("used_cpu_sys", "redis_cpu_sys_seconds_total", "counter"),
    ("used_cpu_user", "redis_cpu_user_seconds_total", "counter"),
    ("used_cpu_sys_main_thread", "redis_cpu_sys_main_thread_seconds_total", "counter"),
    ("used_cpu_user_main_thread", "redis_cpu_user_main_thread_seconds_total", "counter"),
    ("keys", "redis_db_keys", "gauge"),
    ("expires", "redis_db_keys_expiring", "gauge"),
    ("master_repl_offset", "redis_master_repl_offset", "gauge"),
    ("connected_slaves", "redis_connected_slaves", "gauge"),
    ("master_link_up", "redis_master_link_up", "gauge"),
    ("master_last_io_seconds_ago", "redis_master_last_io_seconds_ago", "gauge"),
    ("sync_full", "redis_replica_resyncs_full", "gauge"),
    ("sync_partial_ok", "redis_replica_partial_resync_accepted", "gauge"),
    ("sync_partial_err", "redis_replica_partial_resync_denied", "gauge"),
    ("latest_fork_usec", "redis_latest_fork_seconds", "gauge"),
    ("rdb_changes_since_last_save", "redis_rdb_changes_since_last_save", "gauge"),
    ("rdb_last_bgsave_ok", "redis_rdb_last_bgsave_status", "gauge"),
    ("loading", "redis_loading_dump_file", "gauge"),
    ("cluster_state_ok", "redis_cluster_state", "gauge"),
    ("cluster_slots_assigned", "redis_cluster_slots_assigned", "gauge"),
    ("cluster_slots_ok", "redis_cluster_slots_ok", "gauge"),
    ("cluster_slots_fail", "redis_cluster_slots_fail", "gauge"),
    ("cluster_known_nodes", "redis_cluster_known_nodes", "gauge"),
    ("cluster_current_epoch", "redis_cluster_current_epoch", "gauge"),
)
# redis_exporter has these by database; we keep the sum.
OF_ALL_DATABASES = {"redis_db_keys", "redis_db_keys_expiring"}
# What turns a stored number into the exporter's unit.
SCALES = {metric.name: metric.scale for metric in HOT} | {"latest_fork_usec": 1e-6}

# Numbers that are read every few minutes; those of the first list have redis_exporter's name behind its prefix. Names
# that promtool refuses are left out, such as those in milliseconds or ending in `_sec`.
SAME = """
    watching_clients clients_in_timeout_table total_watched_keys total_blocking_keys total_blocking_keys_on_nokey
    number_of_cached_scripts number_of_functions number_of_libraries allocator_frag_ratio allocator_frag_bytes
    allocator_rss_ratio allocator_rss_bytes mem_fragmentation_bytes mem_clients_slaves active_defrag_running
    lazyfree_pending_objects lazyfreed_objects async_loading rdb_bgsave_in_progress aof_enabled aof_rewrite_in_progress
    aof_rewrite_scheduled aof_last_bgrewrite_status aof_last_write_status aof_pending_rewrite aof_buffer_length
    aof_rewrite_buffer_length aof_pending_bio_fsync aof_delayed_fsync module_fork_in_progress pubsub_channels
    pubsub_patterns pubsubshard_channels master_sync_in_progress slave_repl_offset slave_priority second_repl_offset
    repl_backlog_first_byte_offset cluster_size cluster_my_epoch cluster_slots_pfail
"""
RARE_NAMES = (
    *((name, f"redis_{name}", "gauge") for name in SAME.split()),
    ("used_memory_startup", "redis_memory_used_startup_bytes", "gauge"),
    ("used_memory_lua", "redis_memory_used_lua_bytes", "gauge"),
    ("used_memory_vm_eval", "redis_memory_used_vm_eval_bytes", "gauge"),
    ("used_memory_scripts_eval", "redis_memory_used_scripts_eval_bytes", "gauge"),
    ("used_memory_scripts", "redis_memory_used_scripts_bytes", "gauge"),
    ("used_memory_functions", "redis_memory_used_functions_bytes", "gauge"),
    ("allocator_allocated", "redis_allocator_allocated_bytes", "gauge"),
    ("allocator_active", "redis_allocator_active_bytes", "gauge"),
    ("allocator_resident", "redis_allocator_resident_bytes", "gauge"),
    ("mem_replication_backlog", "redis_mem_replication_backlog_bytes", "gauge"),
    ("mem_total_replication_buffers", "redis_mem_total_replication_buffers_bytes", "gauge"),
    ("mem_cluster_links", "redis_mem_cluster_links_bytes", "gauge"),
    ("mem_aof_buffer", "redis_mem_aof_buffer_bytes", "gauge"),
    ("rdb_last_cow_size", "redis_rdb_last_cow_size_bytes", "gauge"),
    ("aof_last_cow_size", "redis_aof_last_cow_size_bytes", "gauge"),
    ("aof_current_size", "redis_aof_current_size_bytes", "gauge"),
    ("aof_base_size", "redis_aof_base_size_bytes", "gauge"),
    ("repl_backlog_size", "redis_replication_backlog_bytes", "gauge"),
    ("repl_backlog_histlen", "redis_repl_backlog_history_bytes", "gauge"),
    ("rdb_last_save_time", "redis_rdb_last_save_timestamp_seconds", "gauge"),
    ("rdb_last_load_keys_expired", "redis_rdb_last_load_expired_keys", "gauge"),
    ("rdb_last_load_keys_loaded", "redis_rdb_last_load_loaded_keys", "gauge"),
    ("repl_backlog_active", "redis_repl_backlog_is_active", "gauge"),
    ("expired_stale_perc", "redis_expired_stale_percentage", "gauge"),
    ("active_defrag_hits", "redis_defrag_hits", "gauge"),
    ("active_defrag_misses", "redis_defrag_misses", "gauge"),
    ("active_defrag_key_hits", "redis_defrag_key_hits", "gauge"),
    ("active_defrag_key_misses", "redis_defrag_key_misses", "gauge"),
    ("expired_subkeys", "redis_expired_subkeys_total", "counter"),
    ("expired_time_cap_reached_count", "redis_expired_time_cap_reached_total", "counter"),
    ("evicted_clients", "redis_evicted_clients_total", "counter"),
    ("evicted_scripts", "redis_evicted_scripts_total", "counter"),
    ("client_query_buffer_limit_disconnections", "redis_client_query_buffer_limit_disconnections_total", "counter"),
    ("client_output_buffer_limit_disconnections", "redis_client_output_buffer_limit_disconnections_total", "counter"),
    ("used_cpu_sys_children", "redis_cpu_sys_children_seconds_total", "counter"),
    ("used_cpu_user_children", "redis_cpu_user_children_seconds_total", "counter"),
    ("cluster_stats_messages_sent", "redis_cluster_messages_sent_total", "counter"),
    ("cluster_stats_messages_received", "redis_cluster_messages_received_total", "counter"),
)

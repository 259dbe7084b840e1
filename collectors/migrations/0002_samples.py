"""Create the tables of samples. They have no models: collectors/samples.py and its neighbours own them."""

from django.db import migrations

# Eight-byte columns first, so that rows carry no padding.
SAMPLE = """
CREATE TABLE sample (
    at timestamptz NOT NULL,
    used_memory bigint,
    used_memory_rss bigint,
    used_memory_peak bigint,
    used_memory_dataset bigint,
    used_memory_overhead bigint,
    maxmemory bigint,
    mem_clients_normal bigint,
    mem_not_counted_for_evict bigint,
    keys bigint,
    expires bigint,
    master_repl_offset bigint,
    replication_lag_bytes bigint,
    rdb_changes_since_last_save bigint,
    client_recent_max_output_buffer bigint,
    client_recent_max_input_buffer bigint,
    cluster_current_epoch bigint,
    total_commands_processed bigint,
    total_connections_received bigint,
    rejected_connections bigint,
    total_net_input_bytes bigint,
    total_net_output_bytes bigint,
    total_net_repl_input_bytes bigint,
    total_net_repl_output_bytes bigint,
    keyspace_hits bigint,
    keyspace_misses bigint,
    expired_keys bigint,
    evicted_keys bigint,
    total_error_replies bigint,
    used_cpu_sys bigint,
    used_cpu_user bigint,
    used_cpu_sys_main_thread bigint,
    used_cpu_user_main_thread bigint,
    connected_clients integer,
    maxclients integer,
    cluster_connections integer,
    blocked_clients integer,
    tracking_clients integer,
    pubsub_clients integer,
    uptime_in_seconds integer,
    instantaneous_ops_per_sec integer,
    master_last_io_seconds_ago integer,
    latest_fork_usec integer,
    sync_full integer,
    sync_partial_ok integer,
    sync_partial_err integer,
    read_after_ms integer,
    node_id integer NOT NULL,
    round_trip_seconds real,
    mem_fragmentation_ratio real,
    replication_lag_seconds real,
    connected_slaves smallint,
    cluster_slots_ok smallint,
    cluster_slots_assigned smallint,
    cluster_slots_fail smallint,
    cluster_known_nodes smallint,
    is_primary boolean,
    master_link_up boolean,
    cluster_state_ok boolean,
    loading boolean,
    rdb_last_bgsave_ok boolean,
    PRIMARY KEY (node_id, at)
) PARTITION BY RANGE (at);
"""

# Every poll updates every row: room in the page keeps the updates off the index.
NODE_LATEST = """
CREATE TABLE node_latest (
    node_id integer PRIMARY KEY,
    at timestamptz NOT NULL,
    used_memory bigint,
    used_memory_rss bigint,
    used_memory_peak bigint,
    used_memory_dataset bigint,
    used_memory_overhead bigint,
    maxmemory bigint,
    mem_clients_normal bigint,
    mem_not_counted_for_evict bigint,
    keys bigint,
    expires bigint,
    master_repl_offset bigint,
    replication_lag_bytes bigint,
    rdb_changes_since_last_save bigint,
    client_recent_max_output_buffer bigint,
    client_recent_max_input_buffer bigint,
    cluster_current_epoch bigint,
    total_commands_processed bigint,
    total_connections_received bigint,
    rejected_connections bigint,
    total_net_input_bytes bigint,
    total_net_output_bytes bigint,
    total_net_repl_input_bytes bigint,
    total_net_repl_output_bytes bigint,
    keyspace_hits bigint,
    keyspace_misses bigint,
    expired_keys bigint,
    evicted_keys bigint,
    total_error_replies bigint,
    used_cpu_sys bigint,
    used_cpu_user bigint,
    used_cpu_sys_main_thread bigint,
    used_cpu_user_main_thread bigint,
    connected_clients integer,
    maxclients integer,
    cluster_connections integer,
    blocked_clients integer,
    tracking_clients integer,
    pubsub_clients integer,
    uptime_in_seconds integer,
    instantaneous_ops_per_sec integer,
    master_last_io_seconds_ago integer,
    latest_fork_usec integer,
    sync_full integer,
    sync_partial_ok integer,
    sync_partial_err integer,
    read_after_ms integer,
    round_trip_seconds real,
    mem_fragmentation_ratio real,
    replication_lag_seconds real,
    connected_slaves smallint,
    cluster_slots_ok smallint,
    cluster_slots_assigned smallint,
    cluster_slots_fail smallint,
    cluster_known_nodes smallint,
    is_primary boolean,
    master_link_up boolean,
    cluster_state_ok boolean,
    loading boolean,
    rdb_last_bgsave_ok boolean,
    commands_per_second real,
    connections_received_per_second real,
    rejected_connections_per_second real,
    keyspace_hits_per_second real,
    keyspace_misses_per_second real,
    expired_keys_per_second real,
    evicted_keys_per_second real,
    error_replies_per_second real,
    replication_input_bytes_per_second real,
    replication_output_bytes_per_second real,
    network_input_bytes_per_second real,
    network_output_bytes_per_second real,
    cpu_ratio real,
    main_thread_cpu_ratio real,
    hit_ratio real,
    memory_used_ratio real,
    connections_used_ratio real,
    keys_without_ttl real
) WITH (fillfactor = 40);
"""

CACHE_LATEST = """
CREATE TABLE cache_latest (
    cache_id integer PRIMARY KEY,
    at timestamptz,
    nodes integer NOT NULL,
    answering integer NOT NULL,
    primaries integer NOT NULL,
    replicas integer NOT NULL,
    links_down integer NOT NULL,
    slots_ok integer,
    cluster_state_ok boolean,
    used_memory bigint,
    memory_limit_bytes bigint,
    memory_used_ratio real,
    fullest_memory_node_id integer,
    cpu_ratio real,
    busiest_node_id integer,
    connected_clients bigint,
    connections_used_ratio real,
    fullest_connections_node_id integer,
    fullest_connected_clients integer,
    fullest_maxclients integer,
    commands_per_second real,
    hit_ratio real,
    evicted_keys_per_second real,
    rejected_connections_per_second real,
    replication_lag_bytes bigint,
    keys bigint,
    spark_minute integer,
    spark_used_memory real[],
    spark_cpu_ratio real[],
    spark_connected_clients real[],
    spark_commands_per_second real[],
    spark_hit_ratio real[],
    spark_evicted_keys_per_second real[]
) WITH (fillfactor = 40);
"""

# Appends the newest point `step` minutes after the last one, a NULL for each minute between, 60 at most;
# within the same minute it replaces the last point; an older one changes nothing.
SPARK_PUSH = """
CREATE FUNCTION spark_push(points real[], step integer, newest real) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE
        WHEN points IS NULL OR step IS NULL THEN ARRAY[newest]
        WHEN step < 0 THEN points
        WHEN step = 0 THEN points[:cardinality(points) - 1] || newest
        ELSE (
            SELECT longer[GREATEST(1, cardinality(longer) - 59):]
            FROM (SELECT points || array_fill(NULL::real, ARRAY[LEAST(step, 60) - 1]) || newest) AS grown (longer)
        )
    END
$$;
"""

# Array positions are collectors/metrics/detail.py and slots.py, both append only.
DETAIL = """
CREATE TABLE detail (
    at timestamptz NOT NULL,
    node_id integer NOT NULL,
    numbers double precision[] NOT NULL,
    PRIMARY KEY (node_id, at)
) PARTITION BY RANGE (at);
"""

ROLLUP = """
CREATE TABLE {table} (
    at timestamptz NOT NULL,
    node_id integer NOT NULL,
    samples integer NOT NULL,
    mean real[] NOT NULL,
    minimum real[] NOT NULL,
    maximum real[] NOT NULL,
    last real[] NOT NULL,
    PRIMARY KEY (node_id, at)
) PARTITION BY RANGE (at);
"""

# Up to where each tier is complete, and the five-minute intervals to make again because samples came late.
MARKS = """
CREATE TABLE rollup_mark (tier text PRIMARY KEY, until timestamptz NOT NULL);
CREATE TABLE rollup_late (at timestamptz PRIMARY KEY);
"""

# How fast used_memory of a node grows lately; fit is R squared.
NODE_TREND = """
CREATE TABLE node_trend (
    node_id integer PRIMARY KEY,
    at timestamptz NOT NULL,
    bytes_per_second real,
    fit real
) WITH (fillfactor = 50);
"""


class Migration(migrations.Migration):
    dependencies = [("collectors", "0001_initial")]

    operations = [
        migrations.RunSQL(SAMPLE, "DROP TABLE sample"),
        migrations.RunSQL(NODE_LATEST, "DROP TABLE node_latest"),
        migrations.RunSQL(CACHE_LATEST, "DROP TABLE cache_latest"),
        migrations.RunSQL(SPARK_PUSH, "DROP FUNCTION spark_push"),
        migrations.RunSQL(DETAIL, "DROP TABLE detail"),
        migrations.RunSQL(ROLLUP.format(table="rollup_5m"), "DROP TABLE rollup_5m"),
        migrations.RunSQL(ROLLUP.format(table="rollup_1h"), "DROP TABLE rollup_1h"),
        migrations.RunSQL(MARKS, "DROP TABLE rollup_mark; DROP TABLE rollup_late"),
        migrations.RunSQL(NODE_TREND, "DROP TABLE node_trend"),
    ]

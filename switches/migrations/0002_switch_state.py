"""What the database itself sees to: telling readers, keeping the record of changes, the view for applications."""

from django.db import migrations

# The serial is locked until the commit, so that numbers become visible in their order.
TELL = """
CREATE FUNCTION switches_tell() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO switches_installation AS known (id, epoch, serial) VALUES (1, 1, 1)
    ON CONFLICT (id) DO UPDATE SET serial = known.serial + 1;
    PERFORM pg_notify('shardwatch_switches', '');
    RETURN NULL;
END $$;
CREATE TRIGGER switches_tell AFTER INSERT OR DELETE OR UPDATE OF revision, cache_now_id
    ON switches_switch FOR EACH STATEMENT EXECUTE FUNCTION switches_tell();
CREATE TRIGGER switches_tell AFTER INSERT OR DELETE OR UPDATE OF digest, scope, revoked_at
    ON switches_clientkey FOR EACH STATEMENT EXECUTE FUNCTION switches_tell();
CREATE TRIGGER switches_tell AFTER UPDATE OF is_admitted
    ON switches_instance FOR EACH STATEMENT EXECUTE FUNCTION switches_tell();
CREATE TRIGGER switches_tell AFTER UPDATE OF address, topology
    ON fleet_cache FOR EACH ROW WHEN (OLD.address <> NEW.address OR OLD.topology <> NEW.topology)
    EXECUTE FUNCTION switches_tell();
INSERT INTO switches_installation (id, epoch, serial) VALUES (1, 1, 1);
"""
UNTELL = """
DROP TRIGGER switches_tell ON switches_switch;
DROP TRIGGER switches_tell ON switches_clientkey;
DROP TRIGGER switches_tell ON switches_instance;
DROP TRIGGER switches_tell ON fleet_cache;
DROP FUNCTION switches_tell();
"""
KEEP = """
CREATE FUNCTION switches_keep() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'Changes of switches are a record: rows are only added.' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER switches_keep BEFORE UPDATE OR DELETE
    ON switches_switchchange FOR EACH STATEMENT EXECUTE FUNCTION switches_keep();
"""
UNKEEP = """
DROP TRIGGER switches_keep ON switches_switchchange;
DROP FUNCTION switches_keep();
"""
VIEW = """
CREATE VIEW switch_state AS
SELECT s.key, s.percent > 0 AS can_use, s.percent, s.revision, i.epoch, s.changed_at
FROM switches_switch s CROSS JOIN switches_installation i
WHERE s.retired_at IS NULL AND i.id = 1;
COMMENT ON VIEW switch_state IS 'Read-only state of switches for applications: docs/switches.md.';
"""


class Migration(migrations.Migration):
    dependencies = [("switches", "0001_initial"), ("fleet", "0001_initial")]

    operations = [
        migrations.RunSQL(TELL, UNTELL),
        migrations.RunSQL(KEEP, UNKEEP),
        migrations.RunSQL(VIEW, "DROP VIEW switch_state"),
    ]

"""The rules that every cache has from its first sample.

Thresholds stand beside their source where they have one; where published packs disagree, the choice and
its reason are given. What is healthy by design never fires: a full cache that evicts, a cache without
replicas, an idle node's fragmentation, a restart that is over before the second poll.
"""

from alerts.packs.load import LOAD
from alerts.packs.memory import MEMORY
from alerts.packs.quality import QUALITY
from alerts.packs.reachability import REACHABILITY
from alerts.packs.service import SERVICE_PACK
from alerts.packs.slabs import SLAB_PACK
from alerts.packs.topology import TOPOLOGY
from alerts.rule import Rule
from alerts.spec import Spec
from alerts.spec_form import read_spec, written

OF_NODES = REACHABILITY + MEMORY + LOAD + QUALITY + TOPOLOGY
PACK = OF_NODES + SLAB_PACK + SERVICE_PACK


def specs() -> list[Spec]:
    return [read_spec(given) for given in PACK]


def install() -> int:
    """Bring the default pack into the database; return how many rules are new or were changed by us.

    What a person edited or turned off stays as it is: only untouched rules follow a newer pack.
    """
    known = {rule.key: rule for rule in Rule.objects.all()}
    changed = 0
    for spec in specs():
        rule = known.get(spec.key)
        if rule is None:
            Rule.of(spec, origin=Rule.Origin.PACK).save()
        elif rule.origin == Rule.Origin.PACK and rule.revision == 1 and rule.text != written(spec):
            Rule.objects.filter(pk=rule.pk).update(text=written(spec))
        else:
            continue
        changed += 1
    return changed

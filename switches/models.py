"""What is kept of switches: themselves, their changes, who reads them, and what readers report."""

from switches.auto_off import AutoOff as AutoOff
from switches.client_key import ClientKey as ClientKey
from switches.installation import Installation as Installation
from switches.instance import Instance as Instance
from switches.plan import Plan as Plan
from switches.plan import Proposal as Proposal
from switches.run_book import RunBook as RunBook
from switches.run_book import RunBookEntry as RunBookEntry
from switches.sighting import Sighting as Sighting
from switches.switch import Switch as Switch
from switches.switch import SwitchChange as SwitchChange

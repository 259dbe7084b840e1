<?php

declare(strict_types=1);

namespace Shardwatch;

/** The cache is out of service, and what was asked cannot be left out in silence: a job would be lost. */
final class SwitchedOff extends \RuntimeException
{
}

<?php

declare(strict_types=1);

namespace Shardwatch;

/** What came back over HTTP; status 0 when nothing did. */
final class Answer
{
    /** @param array<string, string> $headers names in lower case */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
        public readonly string $trouble,
        public readonly string $localAddress,
    ) {
    }

    public function header(string $name): string
    {
        return $this->headers[$name] ?? '';
    }

    public function seconds(string $header): float
    {
        $value = $this->header($header);
        return is_numeric($value) ? max(0.0, (float) $value) : 0.0;
    }

    /** @return array<mixed>|null null for anything but a JSON object or list */
    public function json(): ?array
    {
        $read = json_decode($this->body, true);
        return is_array($read) ? $read : null;
    }
}

<?php

declare(strict_types=1);

namespace Shardwatch;

/** Bounded questions to Shardwatch: in time, in size, and to that address only. */
final class Http
{
    private const MAX_BYTES = 1_000_000;

    private ?\CurlHandle $curl = null;

    public function __construct(private readonly Options $options)
    {
    }

    public function get(string $path, string $etag): Answer
    {
        $headers = $etag === '' ? [] : ["If-None-Match: $etag"];
        return $this->ask($path, $headers, [CURLOPT_HTTPGET => true], $this->options->totalMilliseconds);
    }

    /** @param list<array<string, mixed>> $rows */
    public function post(string $path, array $rows, int $milliseconds): Answer
    {
        $body = json_encode($rows, JSON_INVALID_UTF8_SUBSTITUTE);
        return $this->ask($path, ['Content-Type: application/json'], [CURLOPT_POSTFIELDS => $body], $milliseconds);
    }

    private function ask(string $path, array $headers, array $method, int $milliseconds): Answer
    {
        $body = '';
        $received = [];
        $this->curl ??= curl_init();
        // The connection stays for the report that follows; every other option is set anew.
        curl_reset($this->curl);
        curl_setopt_array($this->curl, $method + [
            CURLOPT_URL => $this->options->url . $path,
            CURLOPT_HTTPHEADER => [...$headers, "X-API-Key: {$this->options->clientKey}", 'Expect:'],
            CURLOPT_CONNECTTIMEOUT_MS => $this->options->connectMilliseconds,
            CURLOPT_TIMEOUT_MS => $milliseconds,
            CURLOPT_NOSIGNAL => true,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_HEADERFUNCTION => function ($curl, string $line) use (&$received): int {
                [$name, $value] = explode(':', $line, 2) + ['', ''];
                $received[strtolower($name)] = trim($value);
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => function ($curl, string $part) use (&$body): int {
                $body .= $part;
                return strlen($body) > self::MAX_BYTES ? -1 : strlen($part);
            },
        ]);
        $whole = curl_exec($this->curl) !== false;
        return new Answer(
            $whole ? curl_getinfo($this->curl, CURLINFO_RESPONSE_CODE) : 0,
            $received,
            $body,
            curl_error($this->curl),
            (string) curl_getinfo($this->curl, CURLINFO_LOCAL_IP),
        );
    }
}

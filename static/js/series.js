// Ask the series endpoint: one request for all charts in sight, again and again, slower while it fails.
const METRICS_A_REQUEST = 20;
const LEAST_DELAY = 5;
const MOST_DELAY = 120;
const TIMEOUT = 20_000;

// Return the answer to a question. Throw an Error with the API's sentence where it refuses.
export async function fetchAnswer(url, question, signal) {
  const query = new URLSearchParams(question);
  const given = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]);
  const answer = await fetch(`${url}?${query}`, { signal: given, headers: { Accept: "application/json" } });
  if (answer.status === 401) location.reload();
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body.error ?? String(answer.status));
  return body;
}

// Return the series by metric name. Throw an Error with a sentence where there is none to be had.
export async function fetchSeries(url, metrics, question) {
  const parts = [];
  for (let at = 0; at < metrics.length; at += METRICS_A_REQUEST) parts.push(metrics.slice(at, at + METRICS_A_REQUEST));
  const { signal, limit, ...asked } = question;
  const questions = parts.map((part) => ({ metric: part.join(","), ...asked, ...(limit && { limit }) }));
  const answers = await Promise.all(questions.map((one) => fetchAnswer(url, one, signal)));
  return new Map(answers.flatMap((answer) => answer.series).map((series) => [series.metric, series]));
}

// Calls `load` at once and then every `interval()` seconds; not while the page is hidden.
export class Repeater {
  constructor(load, interval) {
    Object.assign(this, { load, interval, failures: 0, updatedAt: null });
    document.addEventListener("visibilitychange", () => document.hidden || this.now());
  }

  // Load again as soon as the load under way is done.
  soon() {
    if (this.isBusy) this.isWanted = true;
    else this.now();
  }

  async now() {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.isBusy = true;
    this.isWanted = false;
    const controller = new AbortController();
    this.abort = controller;
    try {
      await this.load(controller.signal);
      this.failures = 0;
      this.updatedAt = Date.now() / 1000;
      this.onLoaded();
    } catch (error) {
      if (controller.signal.aborted) return;
      this.failures += 1;
      this.onError(error);
    }
    if (this.abort !== controller) return;
    this.isBusy = false;
    if (this.isWanted) this.now();
    else this.plan();
  }

  plan() {
    const delay = Math.max(LEAST_DELAY, this.interval());
    this.timer = setTimeout(() => document.hidden || this.now(), Math.min(MOST_DELAY, delay * 2 ** this.failures) * 1000);
  }
}

// node evaluate.mjs BASE_URL TOKEN [KEY TARGETING_KEY DEFAULT]...: prints what the SDK evaluates, as JSON.
import { createRequire } from "node:module";
import { join } from "node:path";

const need = createRequire(join(process.env.SHARDWATCH_OPENFEATURE_JS, "package.json"));
const { OpenFeature } = need("@openfeature/server-sdk");
const { OFREPProvider } = need("@openfeature/ofrep-provider");

const [baseUrl, token, ...asked] = process.argv.slice(2);
await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl, headers: [["X-API-Key", token]] }));
const client = OpenFeature.getClient();
const told = [];
while (asked.length) {
  const [key, targetingKey, fallback] = asked.splice(0, 3);
  const context = targetingKey ? { targetingKey } : {};
  const { value, variant, reason, errorCode } = await client.getBooleanDetails(key, fallback === "true", context);
  told.push([value, variant ?? null, reason ?? null, errorCode ?? null]);
}
console.log(JSON.stringify(told));
await OpenFeature.close();

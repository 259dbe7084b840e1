// The address of the page remembers what is shown; every part is written by the one who knows it.

// Set the named parameters; a part that is undefined or empty leaves the address.
export function remember(parts, address = new URL(location)) {
  for (const [name, value] of Object.entries(parts)) {
    if (value) address.searchParams.set(name, value);
    else address.searchParams.delete(name);
  }
  history.replaceState(null, "", address);
}

export const given = (name) => new URLSearchParams(location.search).get(name) ?? "";

export const iso = (seconds) => new Date(seconds * 1000).toISOString().replace(".000", "");

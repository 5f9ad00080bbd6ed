/** The page's address: the open pane and the feed's filter. Elements read it, and are notified when one of them changes it. */

/**
 * Changes the address and notifies the elements that read it.
 *
 * @param {URLSearchParams} search
 * @param {'push'|'replace'} [how] replace: without a step in the browser's history
 */
export function setAddress(search, how = 'push') {
  const query = search.toString();
  const url = location.pathname + (query && `?${query}`);
  if (how === 'push') history.pushState(null, '', url);
  else history.replaceState(null, '', url);
  dispatchEvent(new Event('address'));
}

/**
 * Calls `read` whenever the address changes, also by the browser's Back.
 *
 * @param {() => void} read
 * @param {AbortSignal} signal
 */
export function onAddress(read, signal) {
  addEventListener('popstate', read, { signal });
  addEventListener('address', read, { signal });
}

/**
 * The address with a pane for a notification or an agent; without one, the pane is closed.
 *
 * @param {{id?: number, agent?: string}} place
 */
export function withPane({ id, agent }) {
  const search = new URLSearchParams(location.search);
  search.delete('id');
  search.delete('agent');
  if (id) search.set('id', String(id));
  else if (agent) search.set('agent', agent);
  return search;
}

/** The notification or the agent (`project/id`) that the address names. */
export function openPlace() {
  const search = new URLSearchParams(location.search);
  return { id: Number(search.get('id')) || 0, agent: search.get('agent') ?? '' };
}

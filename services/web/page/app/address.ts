import { computed, signal } from '@preact/signals'

/** What the address bar says is shown. `id` is that of a channel or conversation. */
export type Address =
  | { view: 'home' }
  | { view: 'channel'; id: string; messageId?: string; threadId?: string }
  | { view: 'search'; query: string }
  | { view: 'admin'; page: AdminPage }
  | { view: 'preferences' | 'profile' | 'sessions' }
  | { view: 'sign-in' }
  | { view: 'reset' }

export const adminPages = ['people', 'webhooks', 'settings', 'audit', 'export'] as const
export type AdminPage = (typeof adminPages)[number]

const url = signal(new URL(location.href))
addEventListener('popstate', () => {
  url.value = new URL(location.href)
})

export const address = computed<Address>(() => readAddress(url.value))

/** Shows another address. Back returns to this one, unless `replace` is set. */
export function navigate(to: string, { replace = false } = {}) {
  if (to === location.pathname + location.search) return
  if (replace) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  url.value = new URL(location.href)
}

export function readAddress({ pathname, searchParams, hash }: URL): Address {
  const [first = '', ...rest] = pathname.split('/').slice(1).map(decode)
  if (first === 'c' && rest[0]) {
    const [id, kind, target] = rest
    if (kind === 'm' && target) return { view: 'channel', id, messageId: target }
    if (kind === 't' && target) return { view: 'channel', id, threadId: target }
    return { view: 'channel', id }
  }
  if (first === 'search') return { view: 'search', query: searchParams.get('q') ?? '' }
  if (first === 'admin') return { view: 'admin', page: adminPages.find((page) => page === rest[0]) ?? 'people' }
  if (first === 'preferences' || first === 'profile' || first === 'sessions') return { view: first }
  if (first === 'reset') return { view: 'reset' }
  if (first === 'sign-in' || /(^#|&)token=/.test(hash)) return { view: 'sign-in' }
  return { view: 'home' }
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    // A broken escape names nothing; it is shown as what it is.
    return part
  }
}

export const channelAddress = (id: string) => `/c/${encodeURIComponent(id)}`
export const messageAddress = (id: string, messageId: string) =>
  `${channelAddress(id)}/m/${encodeURIComponent(messageId)}`
export const threadAddress = (id: string, messageId: string) =>
  `${channelAddress(id)}/t/${encodeURIComponent(messageId)}`
export const searchAddress = (query: string) => `/search?q=${encodeURIComponent(query)}`

/** Follows plain clicks on links within the page; every other click is the browser's. */
export function followLink(event: MouseEvent) {
  const link = (event.target as Element).closest('a')
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.target || link.hasAttribute('download') || link.origin !== location.origin) return
  if (/^\/(docs|openapi\.json|files|channels|conversations|auth)\b/.test(link.pathname)) return
  event.preventDefault()
  navigate(link.pathname + link.search)
}

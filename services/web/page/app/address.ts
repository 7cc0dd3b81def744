import { computed, signal } from '@preact/signals'

/** The view that the address bar names. `id` is the id of a channel or conversation. */
export type Address =
  | { view: 'home' }
  /** With both ids, the message is a reply in the thread. */
  | { view: 'channel'; id: string; messageId?: string; threadId?: string }
  | { view: 'search'; query: string }
  | { view: 'threads' | 'mentions' | 'saved' }
  | { view: 'admin'; page: AdminPage }
  | { view: AccountPage }
  /** A link from a mail: to sign in, or to choose a password after an invitation or a reset. */
  | { view: 'link'; kind: 'sign-in' | 'invite' | 'reset' }
  /** The page has no view there. */
  | { view: 'unknown' }

export const adminPages = [
  'people',
  'groups',
  'bots',
  'webhooks',
  'subscriptions',
  'commands',
  'sign-in',
  'scim',
  'settings',
  'audit',
  'export',
] as const
export type AdminPage = (typeof adminPages)[number]

export const accountPages = ['preferences', 'profile', 'security', 'sessions', 'tokens'] as const
export type AccountPage = (typeof accountPages)[number]

const url = signal(new URL(location.href))
/** How often the person, or the end of a session, has opened something else. */
let changes = 0
addEventListener('popstate', () => {
  // Only what is open above the view changes (`closeByBack`).
  if (location.href === url.value.href) return
  changes++
  url.value = new URL(location.href)
})

export const address = computed<Address>(() => readAddress(url.value))

/** The id of the open channel or conversation. */
export const openPlaceId = computed(() => (address.value.view === 'channel' ? address.value.id : undefined))

interface NavigateOptions {
  /** The back button does not return to the current address. */
  replace?: boolean
  /** The page opens it without being asked, as it opens the first channel. */
  isAutomatic?: boolean
}

/** Navigates to another address. The address of the shown search can be navigated to again, because its results may be others now. */
export function navigate(to: string, { replace = false, isAutomatic = false }: NavigateOptions = {}) {
  const isSame = to === location.pathname + location.search
  if (isSame && address.value.view !== 'search') return
  if (!isAutomatic) changes++
  // What is open above the view has an entry of its own (`closeByBack`).
  if (replace || isSame || history.state?.layers) history.replaceState(null, '', to)
  else history.pushState(null, '', to)
  url.value = new URL(location.href)
}

/** Returns a function that navigates, unless the person has opened something else after this call. For the time of a request. */
export function navigateLater() {
  const before = changes
  return (to: string) => {
    if (changes === before) navigate(to)
  }
}

function readAddress({ pathname, searchParams }: URL): Address {
  const parts = decodedParts(pathname)
  if (!parts) return { view: 'unknown' }
  const [first = '', ...rest] = parts
  if (first === 'c' && rest[0]) {
    const [id, kind, target, inThread, reply] = rest
    if (kind === 'm' && target) return { view: 'channel', id, messageId: target }
    if (kind !== 't' || !target) return { view: 'channel', id }
    return { view: 'channel', id, threadId: target, ...(inThread === 'm' && reply && { messageId: reply }) }
  }
  if (pathname === '/search') return { view: 'search', query: searchParams.get('q') ?? '' }
  if (pathname === '/threads') return { view: 'threads' }
  if (pathname === '/mentions') return { view: 'mentions' }
  if (pathname === '/saved') return { view: 'saved' }
  const page = adminPages.find((page) => pathname === `/admin/${page}`)
  if (page) return { view: 'admin', page }
  const view = accountPages.find((page) => pathname === `/${page}`)
  if (view) return { view }
  if (pathname === '/reset') return { view: 'link', kind: 'reset' }
  if (pathname !== '/' && pathname !== '/sign-in') return { view: 'unknown' }
  if (!searchParams.has('token')) return { view: 'home' }
  return { view: 'link', kind: searchParams.get('invite') === 'true' ? 'invite' : 'sign-in' }
}

/** The parts of an address between its slashes; undefined when one has an invalid escape sequence. */
function decodedParts(pathname: string): string[] | undefined {
  try {
    return pathname.split('/').slice(1).map(decodeURIComponent)
  } catch {
    return undefined
  }
}

/** The colon in the id of a conversation stays: `/c/dm:…`. */
export const channelAddress = (id: string) => `/c/${encodeURIComponent(id).replace('%3A', ':')}`
/** The address of a message, or with `threadId` of a reply. */
export const messageAddress = (id: string, messageId: string, threadId?: string | null) =>
  `${threadId ? threadAddress(id, threadId) : channelAddress(id)}/m/${encodeURIComponent(messageId)}`
export const threadAddress = (id: string, messageId: string) =>
  `${channelAddress(id)}/t/${encodeURIComponent(messageId)}`
export const searchAddress = (query: string) => `/search?q=${encodeURIComponent(query)}`

/** Handles plain clicks on links within the page. The browser handles all other clicks, also those on links to the API. */
export function followLink(event: MouseEvent) {
  const link = (event.target as Element).closest('a')
  if (!link || event.defaultPrevented || event.button !== 0) return
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
  if (link.target || link.hasAttribute('download') || link.origin !== location.origin) return
  if (readAddress(new URL(link.href)).view === 'unknown') return
  event.preventDefault()
  navigate(link.pathname + link.search)
}

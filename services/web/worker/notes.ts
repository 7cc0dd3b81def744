/** A message that is announced to somebody who does not look at the page. */
export interface Announcement {
  /** Of the message: several tabs tell of it, and one notification is shown. */
  id: string
  title: string
  body: string
  /** What a click opens. */
  address: string
}

/** What somebody saw when they left the page. */
export interface Snapshot {
  /** Who has seen it. */
  userId: string
  /** The address of the page. */
  pathname: string
  html: string
  /** Attributes of the document: its language and direction, and `data-` attributes by their names without `data-`. */
  root: Record<string, string>
}

/** What the page tells the worker. */
export type NoteToWorker =
  | { kind: 'announce'; announcement: Announcement }
  /** The channel or conversation of these messages was opened: `address` is its own. */
  | { kind: 'seen'; address: string }
  /** Shown at the next start, instead of the one before; null when there is none. */
  | { kind: 'snapshot'; snapshot: Snapshot | null }
  | { kind: 'signed in'; userId: string }
  /** Somebody has signed out. */
  | { kind: 'forget' }
  /** A newer worker is not to wait until all tabs are closed. */
  | { kind: 'take over' }
  /** A newer worker cannot take over as long as this one is waiting for a file. */
  | { kind: 'stop loading' }

/** What the worker tells a page. */
export interface NoteToPage {
  kind: 'open'
  address: string
}

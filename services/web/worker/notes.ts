/** A message that is announced to somebody who does not look at the page. */
export interface Announcement {
  /** Of the message: several tabs tell of it, and one notification is shown. */
  id: string
  title: string
  body: string
  /** What a click opens. */
  address: string
}

/** What the page tells the worker. */
export type NoteToWorker =
  | { kind: 'announce'; announcement: Announcement }
  /** The channel or conversation of these messages was opened: `address` is its own. */
  | { kind: 'seen'; address: string }
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

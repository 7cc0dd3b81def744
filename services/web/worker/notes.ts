/** The content of a notification about a message. */
export interface MessageNotification {
  /** The id of the message. Several tabs send the same notification, but it is shown only once. */
  id: string
  title: string
  body: string
  /** The address that a click opens. */
  address: string
  /** Messages with the same group share one notification. An older page does not send it. */
  group?: MessageGroup
}

/** A channel of whose every message the person is notified. */
interface MessageGroup {
  /** The id of the channel. */
  id: string
  /** The title of a notification of several messages. */
  title: string
  /** The message in such a notification. */
  line: string
}

/** The visible part of the page as HTML, from the moment when a person left it. The next start shows it until the page is rendered. */
export interface Snapshot {
  /** The id of the person to whom it belongs. */
  userId: string
  /** The address of the page. */
  pathname: string
  html: string
  /** The text that is shown with the snapshot when the page is not rendered after some seconds, in the language of the person. */
  late: string
  /** The attributes of the root element: language, direction, and `data-` attributes by their names without `data-`. */
  root: Record<string, string>
}

/**
 * A note from the page to the service worker. The page and the worker may be of different builds, so the names in a note do not change.
 */
export type NoteToWorker =
  | { kind: 'announce'; announcement: MessageNotification }
  /** The snapshot for the next start. Null removes the previous one. */
  | { kind: 'snapshot'; snapshot: Snapshot | null }
  | { kind: 'signed in'; userId: string }
  /** The page has started, and the parts of it that are not cached yet may be fetched. */
  | { kind: 'cache parts' }
  /** The person has signed out. */
  | { kind: 'forget' }
  /** The waiting worker must give its page to the previous one. It responds through the port of the note when a reload loads its build. */
  | { kind: 'give page' }
  /** The waiting worker must replace the previous one without waiting until all tabs are closed. */
  | { kind: 'take over' }

/** A note from the service worker to a page. */
export interface NoteToPage {
  kind: 'open'
  address: string
}

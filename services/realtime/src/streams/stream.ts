import type { Socket } from 'node:net'
import type { Role } from '@parley/contract'
import type { ChannelKind } from '@parley/database'
import type { FrameSequence } from './frame-sequence.ts'

/** Somebody with at least one open stream on this node. */
export interface Person {
  readonly userId: string
  /**
   * Only `setRole` changes it. The streams of a guest always follow what the guest has joined. The streams of a person end when the
   * person becomes a guest or stops being one.
   */
  role: Role
  readonly streams: Set<OpenStream>
}

/** A session with at least one open stream on this node. */
export interface OpenSession {
  readonly sessionId: string
  /** Epoch milliseconds as last read, 0 until it was read. */
  expiresAt: number
  readonly streams: Set<OpenStream>
}

/** One open stream of one client. */
export interface OpenStream {
  readonly id: string
  readonly socket: Socket
  readonly person: Person
  readonly session: OpenSession
  /** Set for `scope=joined`, and for guests: whose channels decide what it gets. */
  readonly follower: Follower | null
  /** Ids of the channels it watches, with `scope=joined`. */
  readonly watched: readonly string[]
  /** Number of the stream, which spreads the keep-alive comments over the seconds of the period. */
  readonly number: number
  /** Takes part in live delivery; false while it replays. */
  isLive: boolean
  isEnded: boolean
  /** What the current delivery has for this stream beyond the shared frames; null between deliveries. */
  sequence: FrameSequence | null
  /** It has got the presence updates up to this order. Null until the first round; 'none' when it wants no presence updates. */
  presence: number | 'none' | null
}

/** What a client asks for when it opens a stream. */
export interface StreamView {
  /** Null for `scope=all`; never for guests. */
  follower: Follower | null
  watched: readonly string[]
  wantsPresence: boolean
}

export type EndReason = 'client' | 'session' | 'role' | 'slow' | 'reset' | 'drain' | 'gone' | 'failed' | 'replaced'

/** A channel or conversation, at least as new as the newest event that passed. One object for as long as it is known. */
export interface KnownChannel {
  readonly id: string
  kind: ChannelKind
  version: number
  /** All members of what is not public; never changed, but replaced. Empty for a public channel, which everybody may read. */
  members: ReadonlySet<string>
  /** The members who have streams of `scope=joined` here, whatever its kind. */
  readonly followers: Follower[]
  /** When its row was last read, by the order of reads on this node. */
  readAt: number
}

/** Somebody who has streams of `scope=joined`, or of a guest, on this node, or is about to open one. */
export interface Follower {
  readonly userId: string
  readonly streams: Set<OpenStream>
  /** The known channels that they have joined. An array, because a set of 200 would take more memory than the stream. */
  readonly channels: KnownChannel[]
  /** Requests that are opening a stream. */
  opening: number
  /** Settles once `channels` is complete. */
  ready: Promise<void>
  /** Whether an event has changed their membership while it was read. */
  hasChanged: boolean
}

import type { Socket } from 'node:net'
import type { Role } from '@parley/contract'
import type { ChannelKind } from '@parley/database'
import type { FrameSequence } from './frame-sequence.ts'

/** A person with at least one open stream on this node. */
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
  /** Epoch milliseconds, as last read. 0 before the first read, and when it may have changed since. */
  expiresAt: number
  readonly streams: Set<OpenStream>
}

/** One open stream of one client. */
export interface OpenStream {
  readonly id: string
  readonly socket: Socket
  readonly person: Person
  readonly session: OpenSession
  /** Set for `scope=joined`, and for guests. The channels of the follower decide which events the stream gets. */
  readonly follower: Follower | null
  /** Ids of the channels it watches, with `scope=joined`. */
  readonly watched: readonly string[]
  /** A running number, which spreads the keep-alive comments over the seconds of the period. */
  readonly number: number
  /** Whether it gets live events; false while it replays. */
  isLive: boolean
  isEnded: boolean
  /** The frames that wait to be written to this stream. */
  waiting: FrameSequence | null
  /** The order up to which it has the presence updates. Null until the first round; 'none' when it wants no presence updates. */
  presence: number | 'none' | null
}

/** The parameters with which a client opens a stream. */
export interface StreamView {
  /** Null for `scope=all`; never for guests. */
  follower: Follower | null
  watched: readonly string[]
  wantsPresence: boolean
}

export type EndReason = 'client' | 'session' | 'role' | 'slow' | 'reset' | 'drain' | 'gone' | 'failed' | 'replaced'

/** A channel or conversation, at least as new as the newest processed event. It stays the same object as long as it is known. */
export interface KnownChannel {
  readonly id: string
  kind: ChannelKind
  version: number
  /** All members, unless the channel is public, when it is empty. The set is never changed, but replaced. */
  members: ReadonlySet<string>
  /** The members who have streams of `scope=joined` on this node, for any kind of channel. */
  readonly followers: Follower[]
  /** When its row was last read, by the order of reads on this node. */
  readAt: number
}

/** A person who has streams of `scope=joined`, or streams as a guest, on this node, or is about to open one. */
export interface Follower {
  readonly userId: string
  readonly streams: Set<OpenStream>
  /**
   * The known channels that they have joined. It is an array, because a set of 200 channels would take more memory than
   * the stream.
   */
  readonly channels: KnownChannel[]
  /** Number of requests that are opening a stream. */
  opening: number
  /** Settles once `channels` is complete. */
  ready: Promise<void>
  /** Whether an event has changed their membership while it was read. */
  hasChanged: boolean
}

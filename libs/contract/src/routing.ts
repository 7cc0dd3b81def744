/**
 * Who gets an event. Entitlement is judged when it is delivered, by the realtime node:
 * - `everyone`: every open stream.
 * - `users`: the streams of these people.
 * - `channel`: the audience of a channel (everyone for a public one; members and admins for a private one). `version`
 *   is the channel's membership version when the event was recorded: a node that knows an older one reloads first.
 * - `outsiders`: everyone who is neither an admin nor one of `members` (a channel became private, or public again).
 * - `nobody`: no stream; the event only carries control for the nodes.
 */
export type Audience =
  | { to: 'everyone' }
  | { to: 'users'; users: string[] }
  | { to: 'channel'; channel: string; version: number }
  | { to: 'outsiders'; members: string[] }
  | { to: 'nobody' }

/** What realtime nodes must do when an event passes, before it is delivered to anyone. */
export interface Control {
  /** Sessions that have ended: their streams end. */
  endSessions?: string[]
  /** People whose admin flag changed or who were removed: what a node knows of them is read anew. */
  reloadUsers?: string[]
}

/** Travels beside the event from the outbox to the realtime nodes; clients never see it. */
export type Routing = Audience & Control

export const everyone: Audience = { to: 'everyone' }
export const nobody: Audience = { to: 'nobody' }
export const onlyUsers = (...users: string[]): Audience => ({ to: 'users', users })
/** `channel.id` is the bare row id, `channel.membersVersion` the version that the recording transaction saw under its lock. */
export const audienceOf = (channel: { id: string; membersVersion: number }): Audience => ({
  to: 'channel',
  channel: channel.id,
  version: channel.membersVersion,
})

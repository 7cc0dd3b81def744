export {
  endChosenPresence,
  endPresence,
  enterStreams,
  findPresenceChanges,
  keepNode,
  type PresenceChange,
  type PresenceTimes,
  removeDeadNodes,
  type StreamClaim,
  setPresence,
} from './presence.ts'

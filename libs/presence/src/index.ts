export {
  endChosenPresence,
  endPresence,
  enterStreams,
  findPresenceChanges,
  keepNode,
  type PresenceChange,
  removeDeadNodes,
  setPresence,
} from './presence.ts'

export { listGroupsOfChannel, listMembersOfGroups, lockGroups, setChannelGroups } from './channel-groups.ts'
export { handleOf, syncGroups } from './directory-groups.ts'
export { findGroup, listGroupMembers, listGroups, listGroupsOfPerson } from './groups.queries.ts'
export {
  changeGroupMembers,
  createGroup,
  deleteGroup,
  type GroupActor,
  type GroupFields,
  type GroupSource,
  type MembersChange,
  updateGroup,
} from './groups.ts'

export { channelView, tellAudience, tellMembers, tellOwnStreams, toldChannel } from './channel-events.ts'
export {
  everybodyButGuests,
  groupColumns,
  joinChannel,
  joinPublicChannels,
  leaveAllChannels,
  leaveAllGroups,
  leaveChannel,
  nextChange,
  readToTheEnd,
  withOtherMembers,
} from './join-and-leave.ts'
export {
  changeMembers,
  findReadersWithoutJoining,
  listMembers,
  lockLivePeople,
  type MemberChange,
  membersOfRow,
} from './members.queries.ts'

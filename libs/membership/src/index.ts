export { channelView, tellAudience, tellOwnStreams, toldChannel } from './channel-events.ts'
export { joinChannel, joinPublicChannels, leaveAllChannels, leaveChannel } from './join-and-leave.ts'
export {
  changeMembers,
  findAdmins,
  listMembers,
  lockLivePeople,
  type MemberChange,
  membersOfRow,
} from './members.queries.ts'

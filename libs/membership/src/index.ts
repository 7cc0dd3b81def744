export {
  channelPayload,
  channelView,
  recordChannelUpdated,
  recordForJoinedStreams,
  recordMembershipChanged,
} from './channel-events.ts'
export { joinPreferences, preferencesColumns, recordPreferences } from './channel-preferences.ts'
export {
  joinChannel,
  joinChannelTogether,
  joinPublicChannels,
  keepByHand,
  leaveAllChannels,
  leaveChannel,
  markAllRead,
} from './join-and-leave.ts'
export {
  everybodyButGuests,
  groupColumns,
  leaveAllGroups,
  nextChange,
  withOtherMembers,
} from './leave-groups.ts'
export {
  changeMembers,
  findReadersWithoutJoining,
  listMembers,
  lockLivePeople,
  type MemberChange,
  membersOfRow,
} from './members.queries.ts'

export {
  channelPayload,
  channelView,
  recordChannelUpdated,
  recordForJoinedStreams,
  recordMembershipChanged,
} from './channel-events.ts'
export { joinPreferences, preferencesColumns, recordPreferences } from './channel-preferences.ts'
export {
  everybodyButGuests,
  groupColumns,
  joinChannel,
  joinChannelTogether,
  joinPublicChannels,
  keepByHand,
  leaveAllChannels,
  leaveAllGroups,
  leaveChannel,
  markAllRead,
  nextChange,
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

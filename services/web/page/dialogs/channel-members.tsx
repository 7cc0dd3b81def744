import { type KnownChannel, RequestFailed } from '@parley/client'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { MemberList } from './member-list.tsx'

interface ChannelMembersProps {
  workspace: Workspace
  channel: KnownChannel
  /** Whether the person may add and remove members. */
  mayChange: boolean
}

/** The members of a channel. */
export function ChannelMembers({ workspace: { client }, workspace, channel, mayChange }: ChannelMembersProps) {
  const { id, name, isPrivate, memberCount, createdBy } = channel
  const params = { channelId: id }

  /** Sends only the change, so that simultaneous changes of other members are not undone. */
  const change = (body: { addMembers: string[] } | { removeMembers: string[] }) =>
    client.request('PUT /channels/:channelId', { params, body })

  /** @throws RequestFailed also when the person stays a member, because otherwise the button would seem to do nothing. */
  async function remove(userId: string) {
    const { channel: changed } = await change({ removeMembers: [userId] })
    if (changed.members.includes(userId))
      throw new RequestFailed(400, t('This person stays a member as long as they are in a group of the channel.'))
  }

  return (
    <MemberList
      workspace={workspace}
      count={memberCount}
      fetchPage={(query) => client.request('GET /channels/:channelId/members', { params, query })}
      {...(mayChange && {
        onAdd: (userId) => change({ addMembers: [userId] }),
        onRemove: remove,
        // Anybody can join a public channel again.
        questionOf: isPrivate
          ? (person) => t('{name} is private. Only somebody who manages it can add {person} again.', { name, person })
          : undefined,
      })}
      keptId={createdBy}
    />
  )
}

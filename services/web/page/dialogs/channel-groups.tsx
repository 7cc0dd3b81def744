import type { KnownChannel } from '@parley/client'
import type { Group } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { NotFetched, useFetched } from '../app/fetched.tsx'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'
import { RequestButton } from '../ui/request-button.tsx'
import { ConfirmRequest } from './confirm-request.tsx'
import { type Choice, PickOne } from './pick-one.tsx'

interface ChannelGroupsProps {
  workspace: Workspace
  channel: KnownChannel
  mayChange: boolean
}

/** The groups that are members of a channel. It renders nothing if there are none and the person cannot add any. */
export function ChannelGroups({ workspace, channel, mayChange }: ChannelGroupsProps) {
  const { data, groups, change } = useGroupsOf(channel.id, workspace)
  const choices = useSignal<readonly Choice[] | null>(null)
  /** The group to remove from a private channel, while the question is open. */
  const asked = useSignal<Group | null>(null)
  const remove = (groupId: string) => change((ids) => ids.filter((one) => one !== groupId))
  async function choose() {
    const all = await attempt(workspace.client.request('GET /groups'))
    if (all) choices.value = all.groups.filter(({ id }) => !groups.some((one) => one.id === id)).map(choiceOf)
  }

  if (groups.length === 0 && !mayChange) return <NotFetched of={data} />
  return (
    <section aria-label={t('Groups')}>
      <h3>{t('Groups')}</h3>
      <p class="quiet">{t('Everybody in these groups is a member of this channel while they are in the group.')}</p>
      <NotFetched of={data} />
      {groups.length > 0 && (
        <ul class="rows">
          {groups.map((group) => (
            <li key={group.id} class="member-row">
              <span class="name" dir="auto">
                @{group.handle} <span class="quiet">{group.name}</span>
              </span>
              {mayChange && (
                <RequestButton
                  class="link-button"
                  name={t('Remove {name}', { name: group.handle })}
                  onRequest={async () => {
                    if (channel.isPrivate) asked.value = group
                    else await attempt(remove(group.id))
                  }}
                >
                  {t('Remove')}
                </RequestButton>
              )}
            </li>
          ))}
        </ul>
      )}
      {mayChange && <RequestButton onRequest={choose}>{t('Add a group')}</RequestButton>}
      {asked.value && (
        <ConfirmRequest
          name={t('Remove group')}
          question={t(
            '{name} is private. Members who are in it only through {group} leave it. Only somebody who manages it can add them again.',
            { name: channel.name, group: `@${asked.value.handle}` },
          )}
          confirmLabel={t('Remove')}
          onConfirm={() => remove(asked.value!.id)}
          onClose={() => (asked.value = null)}
        />
      )}
      {choices.value && (
        <PickOne
          workspace={workspace}
          name={t('Add a group')}
          label={t('Group')}
          choices={choices.value}
          find={() => Promise.resolve([])}
          onClose={() => (choices.value = null)}
          onChoose={({ id }) => {
            choices.value = null
            void attempt(change((ids) => [...new Set([...ids, id])]))
          }}
        />
      )}
    </section>
  )
}

/** The groups of a channel, and a function that changes their list. */
function useGroupsOf(channelId: string, { client }: Workspace) {
  const params = { channelId }
  const findIds = async () => (await client.request('GET /channels/:channelId', { params })).channel.groups ?? []
  const data = useFetched(async () => {
    const ids = await findIds()
    // Most channels have no groups. Then the request for the groups is not needed.
    if (ids.length === 0) return []
    return (await client.request('GET /groups')).groups.filter(({ id }) => ids.includes(id))
  })
  const { fetched, load } = data
  const lastChange = useRef<Promise<unknown>>(Promise.resolve())

  /** The request replaces the whole list, so the current list is fetched first, and a change waits for the previous one. */
  function change(next: (ids: string[]) => string[]): Promise<unknown> {
    const begin = async () => {
      await client.request('PUT /channels/:channelId', { params, body: { groups: next(await findIds()) } })
      await load()
    }
    // After a failure too. The caller of that change shows its error.
    lastChange.current = lastChange.current.then(begin, begin)
    return lastChange.current
  }

  return { data, groups: fetched.value ?? [], change }
}

const choiceOf = ({ id, handle, name }: Group): Choice => ({ id, name: `@${handle}`, hint: name, isPerson: false })

import { useEffect } from 'preact/hooks'
import { createResponseCache } from '../app/response-cache.ts'
import type { Workspace } from '../app/workspace.ts'
import { emojiByName } from '../emoji/emoji.ts'
import { t } from '../texts/texts.ts'

interface AvatarProps {
  workspace: Workspace
  name: string
  id: string
  size?: 'small' | '64' | '256'
  /** The icon that a webhook has chosen. Only an emoji, `:name:`, is shown. Pictures from other servers are not loaded. */
  icon?: string | undefined
}

/** The avatar of a person, or the first letter of their name. The background colour depends on the id. */
export function Avatar({ workspace, name, id, size = '64', icon }: AvatarProps) {
  // The signed-in person is known from the start.
  const user = id === workspace.myId ? workspace.me.value : workspace.user(id)
  const isUnknown = user === undefined
  useEffect(() => {
    if (isUnknown) workspace.loadUser(id)
  }, [id, isUnknown])
  const version = user?.avatarVersion
  const url = version ? pictureOf(workspace, id, version, size === '256' ? '256' : '64') : undefined
  const emoji = icon && /^:([^:\s]+):$/.exec(icon)?.[1]
  const letter = (emoji && emojiByName(emoji)) || [...name][0]?.toUpperCase()
  return (
    <span class="avatar" data-hue={hueOf(id)} data-size={size} aria-hidden="true">
      {url ? <img src={url} alt="" /> : letter}
    </span>
  )
}

interface AvatarWithPresenceProps {
  workspace: Workspace
  person: { id: string; userName: string }
}

/** A small avatar with a dot for the presence of the person. The component that renders it must load the presence. */
export function AvatarWithPresence({ workspace, person: { id, userName } }: AvatarWithPresenceProps) {
  const status = workspace.presence(id)
  const names = { online: t('Online'), away: t('Away'), offline: t('Not here') }
  return (
    <span class="face" data-status={status} title={names[status]} aria-hidden="true">
      <Avatar workspace={workspace} name={userName} id={id} size="small" />
    </span>
  )
}

type Pictures = ReturnType<typeof createResponseCache<string>>

/**
 * The same picture is shown many times, so its bytes are cached as long as the workspace. The next session has a new cache, because the
 * server may allow it what it refused before.
 */
const picturesOf = new WeakMap<Workspace, Pictures>()

function pictureOf(workspace: Workspace, id: string, version: string, size: '64' | '256') {
  const { client, connection } = workspace
  const pictures: Pictures = picturesOf.get(workspace) ?? createResponseCache()
  picturesOf.set(workspace, pictures)
  const url = pictures(`${id} ${version} ${size}`, async () => {
    const input = { params: { id, version }, query: { size } }
    return URL.createObjectURL(await client.request('GET /users/:id/avatar/:version', input))
  })
  // Reading `connection` makes a missing picture load again when the connection is back.
  if (url === undefined) void connection.value
  return url
}

/** The number of background colours in `styles/avatar.css`. */
const hues = 8

/** The background colour of a person. The primes spread similar ids over all colours. */
function hueOf(id: string): number {
  let hash = 0
  for (const character of id) hash = (hash * 31 + character.codePointAt(0)!) % 997
  return hash % hues
}

import type { User } from '@parley/contract'
import { type Block, type Inline, type MarkupOptions, parseMarkup } from '@parley/markup'
import { useMemo } from 'preact/hooks'
import { channelAddress } from '../app/address.ts'
import type { Workspace } from '../app/workspace.ts'
import { emojiByName } from './emoji.ts'

interface TextProps {
  content: string
  workspace: Workspace
  id?: string
}

/** A message's text, drawn from the tokens of the markup. No HTML is ever made of it. */
export function Text({ content, workspace, id }: TextProps) {
  const names = namesOf(workspace)
  const blocks = useMemo(() => parseMarkup(content, names.options), [content, names])
  return (
    <div class="text" id={id} dir="auto">
      {blocks.map((block) => drawBlock(block, names))}
    </div>
  )
}

interface Names {
  options: MarkupOptions
  people: ReadonlyMap<string, User>
  channels: ReadonlyMap<string, string>
  myId: string
}

let known: { users: unknown; channels: unknown; names: Names } | undefined

/** The names that a text may mean, made anew only when people or channels have changed. */
function namesOf({ users, channels, myId }: Workspace): Names {
  if (known && known.users === users.value && known.channels === channels.value) return known.names
  const people = new Map([...users.value.values()].map((user) => [user.userName.toLowerCase(), user]))
  const channelIds = new Map(channels.value.map(({ id, name }) => [name.toLowerCase(), id]))
  const isMention = (name: string) => people.has(name.toLowerCase()) || /^(channel|here)$/i.test(name)
  const names: Names = {
    people,
    channels: channelIds,
    myId,
    options: {
      chooseMention: (candidates) => candidates.find(isMention) ?? null,
      chooseChannel: (candidates) => candidates.find((name) => channelIds.has(name.toLowerCase())) ?? null,
    },
  }
  known = { users: users.value, channels: channels.value, names }
  return names
}

function drawBlock(block: Block, names: Names) {
  switch (block.kind) {
    case 'paragraph':
      return <p>{block.children.map((inline) => drawInline(inline, names))}</p>
    case 'quote':
      return <blockquote>{block.children.map((child) => drawBlock(child, names))}</blockquote>
    case 'list': {
      const items = block.items.map((item) => <li>{item.map((child) => drawBlock(child, names))}</li>)
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>
    }
    case 'code-block':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
        <pre tabIndex={0} dir="ltr">
          <code>{block.text}</code>
        </pre>
      )
  }
}

function drawInline(inline: Inline, names: Names) {
  switch (inline.kind) {
    case 'text':
      return inline.text
    case 'break':
      return <br />
    case 'code':
      return <code>{inline.text}</code>
    case 'bold':
      return <strong>{inline.children.map((child) => drawInline(child, names))}</strong>
    case 'italic':
      return <em>{inline.children.map((child) => drawInline(child, names))}</em>
    case 'strike':
      return <s>{inline.children.map((child) => drawInline(child, names))}</s>
    case 'link':
      return (
        <a href={inline.url} target="_blank" rel="noopener noreferrer nofollow" title={inline.url}>
          {inline.children.map((child) => drawInline(child, names))}
        </a>
      )
    case 'mention': {
      const user = names.people.get(inline.name.toLowerCase())
      const isMe = user ? user.id === names.myId : true
      return (
        <span class="mention" data-me={isMe || undefined}>
          @{user?.userName ?? inline.name}
        </span>
      )
    }
    case 'channel':
      return (
        <a class="mention" href={channelAddress(names.channels.get(inline.name.toLowerCase()) ?? '')}>
          #{inline.name}
        </a>
      )
    case 'emoji':
      return emojiByName(inline.name) ?? `:${inline.name}:`
  }
}

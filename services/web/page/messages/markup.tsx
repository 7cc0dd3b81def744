import type { Group, User } from '@parley/contract'
import { type Block, type Inline, parseLinks, parseMarkup } from '@parley/markup'
import { computed } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { channelAddress } from '../app/address.ts'
import { isOfGroup } from '../app/groups.ts'
import type { Workspace } from '../app/workspace.ts'
import { emojiOrName } from '../emoji/emoji.ts'
import { Code } from './code.tsx'

export interface TextProps {
  content: string
  /** The mentions of the message, from the server. Without them, as for unsent messages, the names of all loaded people are mentions. */
  mentions?: readonly string[]
  workspace: Workspace
  id?: string
  /** Whether the text is a part of a larger one, and has the same direction. */
  isPart?: boolean
  /**
   * Where the rendered beginning of a long text ends. The rest is hidden. `onFound` is called when the search of the browser finds
   * something in it.
   */
  cut?: { at: number; onFound: () => void } | undefined
}

/**
 * A text of nothing but a few emoji. Digits, `©` and others are text, unless the next character asks for a picture. The last group has
 * the characters that can follow in the same emoji.
 */
const onlyEmoji =
  /^(?:\s|(?:[\p{EPres}--\p{EMod}]|[\p{Emoji}--\p{EPres}](?=[\ufe0f\p{EMod}]))(?:[\p{EMod}\ufe0f\u20e3\u{e0020}-\u{e007f}]|\u200d\p{Emoji})*){1,12}$/v

/** Whether there are only a few emoji, in Unicode or as short names. */
function hasOnlyEmoji(blocks: readonly Block[]): boolean {
  let text = ''
  for (const block of blocks) {
    if (block.kind !== 'paragraph') return false
    for (const part of block.children) {
      if (part.kind === 'text') text += part.text
      else if (part.kind === 'emoji') text += emojiOrName(part.name)
      else if (part.kind !== 'break') return false
    }
  }
  return onlyEmoji.test(text)
}

/** The text of a message, rendered from the parsed markup. The page never creates HTML from it. */
export function Text({ content, mentions, workspace, id, isPart = false, cut }: TextProps) {
  const shown = cut ? content.slice(0, cut.at) : content
  const parsed = useMemo(() => computed(() => parse(shown, mentions, workspace)), [shown, mentions])
  useEffect(() => {
    for (const mentioned of mentions ?? []) {
      if (isOfGroup(mentioned)) void workspace.groups.load()
      else if (!mentioned.startsWith('@')) workspace.loadUser(mentioned)
    }
  }, [mentions])
  const { blocks, names } = parsed.value
  const context = { ...names, wholeCode: cut && ((block: CodeBlock) => wholeCode(block, blocks, content)) }
  return (
    <div class="text" id={id} dir={isPart ? undefined : 'auto'} data-emoji={hasOnlyEmoji(blocks) || undefined}>
      {blocks.map((block) => renderBlock(block, context))}
      {cut && <div {...hiddenUntilFound(cut.onFound)}>{withoutHeapedMarks(content.slice(cut.at))}</div>}
    </div>
  )
}

/** The search of the browser finds a text that is hidden in this way, if the browser knows `until-found`. Preact has no types for it. */
const hiddenUntilFound = (onBeforeMatch: () => void): object => ({ hidden: 'until-found', onBeforeMatch })

interface Names {
  people: ReadonlyMap<string, User>
  groups: ReadonlyMap<string, Group & { isMine: boolean }>
  /** The ids of the channels in the text, by their names in lower case. */
  channels: ReadonlyMap<string, string>
  myId: string
}

/**
 * Keeps at most 30 combining marks of a character, as in the Stream-Safe Text Format of Unicode (UAX 15). No language needs more. Browsers
 * render characters with hundreds of marks ten times slower.
 */
export const withoutHeapedMarks = (text: string) =>
  text.replace(/([\p{M}\p{Join_Control}]{30})[\p{M}\p{Join_Control}]+/gu, '$1')

type CodeBlock = Block & { kind: 'code-block' }

/** The whole text of a block of code, of which the beginning of a text contains at least a part. */
function wholeCode(block: CodeBlock, blocks: readonly Block[], content: string): string {
  return codesIn(parseMarkup(content))[codesIn(blocks).indexOf(block)]!.text
}

const codesIn = (blocks: readonly Block[]): CodeBlock[] =>
  blocks.flatMap((block) => {
    if (block.kind === 'code-block') return [block]
    if (block.kind === 'quote') return codesIn(block.children)
    return block.kind === 'list' ? block.items.flatMap(codesIn) : []
  })

interface Context extends Names {
  /** Returns the whole text of a block of code. Undefined while the whole message is shown. */
  wholeCode: ((block: CodeBlock) => string) | undefined
}

function parse(content: string, mentions: readonly string[] | undefined, workspace: Workspace) {
  const mentioned = mentions ? mentions.flatMap((id) => workspace.user(id) ?? []) : workspace.users.peek()
  const people = new Map(mentioned.map((user) => [user.userName.toLowerCase(), user]))
  const groups = groupsIn(mentions, workspace)
  const channels = new Map<string, string>()
  const isMention = (name: string) =>
    people.has(name.toLowerCase()) || groups.has(name.toLowerCase()) || /^(channel|here)$/i.test(name)
  const blocks = parseMarkup(withoutHeapedMarks(content), {
    chooseMention: (candidates) => candidates.find(isMention) ?? null,
    chooseChannel(candidates) {
      const found = workspace.findChannel(candidates)
      if (!found) {
        // Reading `connection` makes a name that was not found be requested again when the connection is back.
        void workspace.connection.value
        return null
      }
      channels.set(found.name.toLowerCase(), found.id)
      return found.name
    },
  })
  const names: Names = { people, groups, channels, myId: workspace.myId }
  return { blocks, names }
}

function groupsIn(mentions: readonly string[] | undefined, { groups, me }: Workspace): Names['groups'] {
  const mentioned = mentions ? mentions.flatMap((mention) => groups.mentioned(mention) ?? []) : groups.all()
  return new Map(
    mentioned.map((group) => [group.handle.toLowerCase(), { ...group, isMine: me.value.groups.includes(group.id) }]),
  )
}

function renderBlock(block: Block, context: Context) {
  switch (block.kind) {
    case 'paragraph':
      return <p>{block.children.map((inline) => renderInline(inline, context))}</p>
    case 'quote':
      return <blockquote>{block.children.map((child) => renderBlock(child, context))}</blockquote>
    case 'list': {
      const items = block.items.map((item) => <li>{item.map((child) => renderBlock(child, context))}</li>)
      return block.start === null ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>
    }
    case 'code-block':
      return (
        <Code
          text={block.text}
          language={block.language}
          whole={context.wholeCode && (() => context.wholeCode!(block))}
        />
      )
  }
}

function renderInline(inline: Inline, names: Names): ComponentChildren {
  switch (inline.kind) {
    case 'text':
      return inline.text
    case 'break':
      return <br />
    case 'code':
      return <code>{inline.text}</code>
    case 'bold':
      return <strong>{inline.children.map((child) => renderInline(child, names))}</strong>
    case 'italic':
      return <em>{inline.children.map((child) => renderInline(child, names))}</em>
    case 'strike':
      return <s>{inline.children.map((child) => renderInline(child, names))}</s>
    case 'link':
      return renderLink(
        inline.url,
        inline.children.map((child) => renderInline(child, names)),
      )
    case 'mention': {
      const user = names.people.get(inline.name.toLowerCase())
      const group = names.groups.get(inline.name.toLowerCase())
      // A mention without a user or group is `@channel` or `@here`, which include this person.
      const isMe = user ? user.id === names.myId : (group?.isMine ?? true)
      return (
        <span class="mention" data-me={isMe || undefined} data-person={user?.id} title={group?.name}>
          @{user?.userName ?? group?.handle ?? inline.name}
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
      return emojiOrName(inline.name)
  }
}

/** A link to a channel, message or thread of this server opens in this tab. */
function renderLink(url: string, children: ComponentChildren) {
  const target = url.startsWith(`${location.origin}/c/`) ? undefined : '_blank'
  return (
    <a href={url} target={target} rel="noopener noreferrer nofollow" title={url}>
      {children}
    </a>
  )
}

/** A text of one line without markup, such as the topic of a channel. Its addresses are links. */
export const renderTopic = (topic: string | null) =>
  topic && parseLinks(topic).map((part) => (part.kind === 'link' ? renderLink(part.url, part.url) : part.text))

import { isConversationId } from '@parley/client'
import type { Message, Preview } from '@parley/contract'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { attempt } from '../ui/problems.ts'

interface PreviewsProps {
  message: Message
  workspace: Workspace
}

/** The previews of the links of a message. Its author may remove them. */
export function Previews({ message, workspace }: PreviewsProps) {
  const remove = () =>
    void attempt(
      workspace.client.request('DELETE /messages/:messageId/previews', { params: { messageId: message.id } }),
    )
  return (
    <div class="previews">
      {message.previews.map((preview) => (
        <LinkPreview key={preview.url} preview={preview} channelId={message.channelId} workspace={workspace} />
      ))}
      {message.author.id === workspace.myId && (
        <button type="button" class="link-button" onClick={remove}>
          {t('Remove the previews')}
        </button>
      )}
    </div>
  )
}

interface LinkPreviewProps {
  preview: Preview
  channelId: string
  workspace: Workspace
}

function LinkPreview({
  preview: { url, title, description, siteName, image },
  channelId,
  workspace,
}: LinkPreviewProps) {
  return (
    <div class="preview">
      <div>
        <div class="quiet" dir="auto">
          {siteName ?? new URL(url).hostname}
        </div>
        <a href={url} target="_blank" rel="noopener noreferrer nofollow" dir="auto">
          {title}
        </a>
        {description !== null && <p dir="auto">{description}</p>}
      </div>
      {image && <PreviewImage image={image} channelId={channelId} workspace={workspace} />}
    </div>
  )
}

interface PreviewImageProps {
  image: NonNullable<Preview['image']>
  channelId: string
  workspace: Workspace
}

/** The image of a preview, fetched with the access token. It is decorative, so it has no alternative text. */
function PreviewImage({ image: { name: filename, width, height }, channelId, workspace }: PreviewImageProps) {
  const url = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const leaving = new AbortController()
    const { signal } = leaving
    const bytes = isConversationId(channelId)
      ? workspace.client.request('GET /conversations/:conversationId/messages/image/:filename', {
          params: { conversationId: channelId, filename },
          signal,
        })
      : workspace.client.request('GET /channels/:channelId/messages/image/:filename', {
          params: { channelId, filename },
          signal,
        })
    bytes
      .then((blob) => {
        if (!signal.aborted) url.value = URL.createObjectURL(blob)
      })
      .catch(() => {
        // The preview is shown without its image.
      })
    return () => {
      leaving.abort()
      if (url.value !== undefined) URL.revokeObjectURL(url.value)
    }
  }, [filename])
  return <img src={url.value} alt="" width={width} height={height} />
}

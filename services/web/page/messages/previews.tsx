import type { Message, Preview } from '@parley/contract'
import type { Workspace } from '../app/workspace.ts'
import { t } from '../texts/texts.ts'
import { passFocus } from '../ui/focus.ts'
import { attempt } from '../ui/problems.ts'
import { fetchImage, useImage } from './images.ts'

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
        <button ref={passFocus} type="button" class="link-button" onClick={remove}>
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
  const url = useImage(filename, (signal) => fetchImage(workspace, { channelId, filename }, signal))
  return <img src={url} alt="" width={width} height={height} />
}

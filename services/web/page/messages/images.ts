import { isConversationId } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure } from '../ui/problems.ts'

interface ImageOfMessage {
  channelId: string
  filename: string
  /** `thumb`: a smaller version, if the image is large. */
  size?: 'thumb'
}

/** Fetches the bytes of an image of a message. @throws RequestFailed */
export function fetchImage({ client }: Workspace, image: ImageOfMessage, signal: AbortSignal): Promise<Blob> {
  const { channelId, filename, ...query } = image
  return isConversationId(channelId)
    ? client.request('GET /conversations/:conversationId/messages/image/:filename', {
        params: { conversationId: channelId, filename },
        query,
        signal,
      })
    : client.request('GET /channels/:channelId/messages/image/:filename', {
        params: { channelId, filename },
        query,
        signal,
      })
}

/**
 * The object URL of an image, which the page must fetch with the access token. Undefined until it is fetched, and when that fails: then the
 * browser shows the alternative text of the image.
 */
export function useImage(filename: string, load: (signal: AbortSignal) => Promise<Blob>): string | undefined {
  const url = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const controller = new AbortController()
    load(controller.signal).then(
      (blob) => {
        if (!controller.signal.aborted) url.value = URL.createObjectURL(blob)
      },
      (error) => controller.signal.aborted || ignoreFailure(error),
    )
    return () => {
      controller.abort()
      if (url.value !== undefined) URL.revokeObjectURL(url.value)
    }
  }, [filename])
  return url.value
}

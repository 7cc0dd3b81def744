import { requestForPlace } from '@parley/client'
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Workspace } from '../app/workspace.ts'
import { ignoreFailure, isTemporary, pauseAfter } from '../ui/retries.ts'

/** Larger images have no smaller version, and take the browser gigabytes of memory. */
export const mostPixels = 50_000_000

interface ImageOfMessage {
  channelId: string
  filename: string
  /** `thumb`: a smaller version, if the image is large. */
  size?: 'thumb'
}

/** Fetches the bytes of an image of a message. @throws RequestFailed */
export function fetchImage({ client }: Workspace, image: ImageOfMessage, signal: AbortSignal): Promise<Blob> {
  const { channelId, filename, ...query } = image
  const input = { params: { filename }, query, signal }
  return requestForPlace(client, 'GET /channels/:channelId/messages/image/:filename', channelId, input)
}

/**
 * The object URL of an image, which the page must fetch with the access token. Until it is fetched, it is undefined. After a failure, the
 * image is requested again after a pause that grows with each failure, unless the server refuses it. `onRefused` is called then. Without
 * `load` nothing is fetched.
 */
export function useImage(
  filename: string,
  load: ((signal: AbortSignal) => Promise<Blob>) | undefined,
  onRefused?: () => void,
): string | undefined {
  const url = useSignal<string | undefined>(undefined)
  useEffect(() => {
    if (!load) return
    const controller = new AbortController()
    let failures = 0
    let timer: ReturnType<typeof setTimeout> | undefined
    const request = () =>
      load(controller.signal).then(
        (blob) => {
          if (!controller.signal.aborted) url.value = URL.createObjectURL(blob)
        },
        (error) => {
          if (controller.signal.aborted) return
          ignoreFailure(error)
          if (isTemporary(error)) timer = setTimeout(request, pauseAfter(++failures))
          else onRefused?.()
        },
      )
    void request()
    return () => {
      controller.abort()
      clearTimeout(timer)
      if (url.value !== undefined) URL.revokeObjectURL(url.value)
    }
  }, [filename])
  return url.value
}

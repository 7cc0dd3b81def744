import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { t } from '../texts/texts.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Drawing, IconButton } from '../ui/icons.tsx'
import { useImage } from './images.ts'

/** An image of a message. */
export interface Picture {
  filename: string
  /** The name that people see. */
  name: string
  size: [width: number, height: number] | undefined
  /** Whether it may keep the browser busy, so that it is fetched only when the person opens it. */
  isRisky: boolean
  load: (signal: AbortSignal) => Promise<Blob>
  /** Fetches a smaller version of a large image, if there is one. */
  loadPreview?: (signal: AbortSignal) => Promise<Blob>
}

interface ImageViewerProps {
  /** All images of the message. */
  pictures: readonly Picture[]
  /** The index of the image that is shown first. */
  first: number
  onClose: () => void
}

/** The shortest swipe that goes to another image, in pixels. */
const minSwipe = 40

/** Shows the images of a message in full. The arrow keys and swipes go to the previous and the next one that is not risky. */
export function ImageViewer({ pictures: all, first, onClose }: ImageViewerProps) {
  const opened = all[first]
  const pictures = all.filter((picture, at) => at === first || !picture.isRisky)
  const index = useSignal(pictures.indexOf(opened!))
  const url = useSignal<string | undefined>(undefined)
  const count = pictures.length
  const picture = pictures[index.value] ?? pictures[0]!
  /** Before the first image is the last one. */
  const go = (step: 1 | -1) => (index.value = (index.value + step + count) % count)
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.altKey || event.ctrlKey || event.metaKey || count < 2) return
      const forwards = document.documentElement.dir === 'rtl' ? 'ArrowLeft' : 'ArrowRight'
      if (event.key === 'ArrowLeft' || event.key === 'ArrowRight') go(event.key === forwards ? 1 : -1)
    }
    let start: Touch | undefined
    const onTouchStart = ({ touches }: TouchEvent) => {
      // A second finger enlarges the page, and a finger moves an enlarged page.
      start = touches.length === 1 && visualViewport!.scale === 1 ? touches[0] : undefined
    }
    const onTouchEnd = ({ changedTouches: [end] }: TouchEvent) => {
      if (!start || count < 2) return
      const [x, y] = [end!.clientX - start.clientX, end!.clientY - start.clientY]
      if (Math.abs(x) < Math.max(minSwipe, 2 * Math.abs(y))) return
      go(x > 0 === (document.documentElement.dir === 'rtl') ? 1 : -1)
    }
    document.addEventListener('keydown', onKeyDown)
    document.addEventListener('touchstart', onTouchStart)
    document.addEventListener('touchend', onTouchEnd)
    return () => {
      document.removeEventListener('keydown', onKeyDown)
      document.removeEventListener('touchstart', onTouchStart)
      document.removeEventListener('touchend', onTouchEnd)
    }
  }, [count])
  return (
    <Dialog name={picture.name} class={count > 1 ? 'viewer several' : 'viewer'} onClose={onClose}>
      <WholeImage key={picture.filename} picture={picture} onLoaded={(loaded) => (url.value = loaded)} />
      <div class="dialog-actions">
        {count > 1 && (
          <>
            <IconButton face={<Drawing outline={previous} />} name={t('Previous image')} onClick={() => go(-1)} />
            <span class="quiet" aria-live="polite">
              <span class="visually-hidden">{picture.name}</span>{' '}
              {t('{number} of {count}', { number: index.value + 1, count })}
            </span>
            <IconButton face={<Drawing outline={next} />} name={t('Next image')} onClick={() => go(1)} />
          </>
        )}
        <a class="button" href={url.value} download={picture.name}>
          {t('Download')}
        </a>
      </div>
    </Dialog>
  )
}

const previous = 'M14.5 6 8.5 12l6 6'
const next = 'M9.5 6l6 6-6 6'

interface WholeImageProps {
  picture: Picture
  /** Called with the address of the whole image, and with undefined when it is not shown any more. */
  onLoaded: (url: string | undefined) => void
}

/** The image in full. Until it is loaded, its smaller version is shown. If the browser cannot show it, a sentence says so. */
function WholeImage({ picture: { filename, name, size, load, loadPreview = load }, onLoaded }: WholeImageProps) {
  const isBroken = useSignal(false)
  const setBroken = () => {
    isBroken.value = true
  }
  const preview = useImage(filename, loadPreview)
  const whole = useImage(filename, load, setBroken)
  useEffect(() => {
    onLoaded(whole)
    return () => onLoaded(undefined)
  }, [whole])
  // The space of the image is known before it is loaded.
  const style = size && { '--width': `${size[0]}px`, '--ratio': size[0] / size[1] }
  if (isBroken.value) return <p>{t('This image cannot be shown')}</p>
  const onError = () => {
    // A smaller version that cannot be shown does not matter.
    if (whole) setBroken()
  }
  return <img class={style && 'sized'} style={style} src={whole ?? preview} alt={name} onError={onError} />
}

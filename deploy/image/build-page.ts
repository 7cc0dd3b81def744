/** Builds the web client into the image. Outside of the image, the first start builds it. */
import { buildPage } from '@parley/web/build'

await buildPage()

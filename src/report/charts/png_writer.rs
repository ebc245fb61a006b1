//! A scene as PNG: coverage of outlines and glyphs is computed exactly and laid onto a bitmap of plotters.

use ab_glyph::{Font, PxScale, ScaleFont};
use ab_glyph_rasterizer::{Rasterizer, point};
use plotters::backend::{BitMapBackend, DrawingBackend};
use plotters::style::{Color, RGBColor};

use super::font::{font, px_scale, width};
use super::ink::Ink;
use super::scale::arc_points;
use super::scene::{Anchor, Dash, Figure, P, PngError, Shape, Stroke, Text};

/// Largest picture, in pixels: beyond it the scale is lowered.
const MAX_PIXELS: f64 = 100_000_000.0;

/// Draws and encodes.
pub(super) fn write(figure: &Figure, scale: f64) -> Result<Vec<u8>, PngError> {
    let most = (MAX_PIXELS / (figure.width * figure.height).max(1.0)).sqrt();
    let scale = scale.min(most);
    let (w, h) = ((figure.width * scale).ceil() as u32, (figure.height * scale).ceil() as u32);
    let mut pixels = vec![255_u8; w as usize * h as usize * 3];
    {
        let backend = BitMapBackend::with_buffer(&mut pixels, (w, h));
        let mut canvas = Canvas { backend, scale, size: (w, h), raster: Rasterizer::new(1, 1) };
        for shape in &figure.scene.shapes {
            canvas.draw(shape)?;
        }
        canvas.backend.present().map_err(|error| PngError(error.to_string()))?;
    }
    encode(&pixels, w, h)
}

fn encode(pixels: &[u8], w: u32, h: u32) -> Result<Vec<u8>, PngError> {
    let failed = |error: png::EncodingError| PngError(error.to_string());
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, w, h);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Default);
    encoder.set_filter(png::FilterType::Sub);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(bytes)
}

struct Canvas<'a> {
    backend: BitMapBackend<'a>,
    scale: f64,
    size: (u32, u32),
    raster: Rasterizer,
}

impl Canvas<'_> {
    fn draw(&mut self, shape: &Shape) -> Result<(), PngError> {
        match shape {
            Shape::Lines { paths, stroke } => {
                paths.iter().try_for_each(|path| dashes(path, stroke.dash).iter().try_for_each(|part| self.stroke(part, stroke)))
            }
            Shape::Fill { polygons, ink, opacity } => {
                polygons.iter().try_for_each(|polygon| self.polygons(std::slice::from_ref(polygon), *ink, *opacity))
            }
            Shape::Text(text) => self.text(text),
        }
    }

    /// A line as the union of its segments' rectangles, with round joins.
    fn stroke(&mut self, path: &[P], stroke: &Stroke) -> Result<(), PngError> {
        let half = (stroke.width / 2.0).max(0.5 / self.scale);
        // Long lines go in parts, so that the area to be rasterised stays close to the line.
        for part in windows(path, 48) {
            let mut outline: Vec<Vec<P>> = part.windows(2).filter_map(|pair| segment(pair[0], pair[1], half)).collect();
            if stroke.width > 1.0 && part.len() > 2 {
                outline.extend(part[1..part.len() - 1].iter().map(|&(x, y)| arc_points(x, y, half, 8)));
            }
            self.polygons(&outline, stroke.ink, 1.0)?;
        }
        Ok(())
    }

    /// The union of polygons in one ink.
    fn polygons(&mut self, polygons: &[Vec<P>], ink: Ink, opacity: f64) -> Result<(), PngError> {
        let (max_x, max_y) = (f64::from(self.size.0), f64::from(self.size.1));
        let scaled: Vec<Vec<P>> = polygons
            .iter()
            .map(|polygon| {
                let pixel = |&(x, y): &P| ((x * self.scale).clamp(0.0, max_x), (y * self.scale).clamp(0.0, max_y));
                oriented(polygon.iter().map(pixel).collect())
            })
            .collect();
        let points = || scaled.iter().flatten();
        let left = points().map(|p| p.0).fold(f64::INFINITY, f64::min).floor();
        let top = points().map(|p| p.1).fold(f64::INFINITY, f64::min).floor();
        let right = points().map(|p| p.0).fold(0.0, f64::max).ceil();
        let bottom = points().map(|p| p.1).fold(0.0, f64::max).ceil();
        if !(right > left && bottom > top) {
            return Ok(());
        }
        self.raster.reset((right - left) as usize + 1, (bottom - top) as usize + 1);
        for polygon in &scaled {
            for (i, &(x, y)) in polygon.iter().enumerate() {
                let (nx, ny) = polygon[(i + 1) % polygon.len()];
                let local = |x: f64, y: f64| point((x - left) as f32, (y - top) as f32);
                self.raster.draw_line(local(x, y), local(nx, ny));
            }
        }
        let mut covered: Vec<(i32, i32, f32)> = Vec::new();
        let (left, top) = (left as i32, top as i32);
        self.raster.for_each_pixel_2d(|x, y, alpha| {
            if alpha > 1.0 / 512.0 {
                covered.push((left + x as i32, top + y as i32, alpha.min(1.0)));
            }
        });
        covered.into_iter().try_for_each(|(x, y, alpha)| self.pixel(x, y, ink, f64::from(alpha) * opacity))
    }

    fn text(&mut self, text: &Text) -> Result<(), PngError> {
        let font = font(text.weight);
        let px: PxScale = px_scale(font, (text.size * self.scale) as f32);
        let scaled = font.as_scaled(px);
        let advance: f32 = text.text.chars().map(|c| scaled.h_advance(scaled.glyph_id(c))).sum();
        debug_assert!(f64::from(advance) <= width(&text.text, text.size, text.weight) * self.scale + 0.01);
        let start = (text.at.0 * self.scale) as f32
            - match text.anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => advance / 2.0,
                Anchor::End => advance,
            };
        let mut pen = start;
        for c in text.text.chars() {
            let id = scaled.glyph_id(c);
            let glyph = id.with_scale_and_position(px, ab_glyph::point(pen, (text.at.1 * self.scale) as f32));
            pen += scaled.h_advance(id);
            if let Some(outline) = font.outline_glyph(glyph) {
                let corner = outline.px_bounds().min;
                let mut covered = Vec::new();
                outline.draw(|x, y, alpha| covered.push((corner.x as i32 + x as i32, corner.y as i32 + y as i32, alpha)));
                covered.into_iter().try_for_each(|(x, y, alpha)| self.pixel(x, y, text.ink, f64::from(alpha.min(1.0))))?;
            }
        }
        Ok(())
    }

    fn pixel(&mut self, x: i32, y: i32, ink: Ink, alpha: f64) -> Result<(), PngError> {
        let inside = x >= 0 && y >= 0 && (x as u32) < self.size.0 && (y as u32) < self.size.1;
        if !inside || alpha <= 0.0 {
            return Ok(());
        }
        let (r, g, b) = ink.rgb();
        let colour = RGBColor(r, g, b).mix(alpha).to_backend_color();
        self.backend.draw_pixel((x, y), colour).map_err(|error| PngError(error.to_string()))
    }
}

/// Overlapping parts of at most `len` points, each beginning with the last two of the one before (so that joins are drawn).
fn windows(path: &[P], len: usize) -> Vec<&[P]> {
    let mut parts = Vec::new();
    let mut from = 0;
    while from + 1 < path.len() {
        let to = (from + len).min(path.len());
        parts.push(&path[from..to]);
        if to == path.len() {
            break;
        }
        from = to - 2;
    }
    parts
}

/// A segment of a line as a rectangle, `half` pixels to both sides.
fn segment((x0, y0): P, (x1, y1): P, half: f64) -> Option<Vec<P>> {
    let (dx, dy) = (x1 - x0, y1 - y0);
    let length = (dx * dx + dy * dy).sqrt();
    if length <= 0.0 || !length.is_finite() {
        return None;
    }
    let (nx, ny) = (-dy / length * half, dx / length * half);
    Some(vec![(x0 + nx, y0 + ny), (x1 + nx, y1 + ny), (x1 - nx, y1 - ny), (x0 - nx, y0 - ny)])
}

/// The polygon turned clockwise, so that coverages of a union add up instead of cancelling.
fn oriented(mut polygon: Vec<P>) -> Vec<P> {
    let doubled: f64 = (0..polygon.len())
        .map(|i| {
            let ((x0, y0), (x1, y1)) = (polygon[i], polygon[(i + 1) % polygon.len()]);
            x0 * y1 - x1 * y0
        })
        .sum();
    if doubled < 0.0 {
        polygon.reverse();
    }
    polygon
}

/// A line cut into its dashes.
fn dashes(path: &[P], dash: Dash) -> Vec<Vec<P>> {
    if dash.is_empty() || path.len() < 2 {
        return vec![path.to_vec()];
    }
    let (mut parts, mut part) = (Vec::new(), vec![path[0]]);
    let (mut index, mut left) = (0, dash[0]);
    for pair in path.windows(2) {
        let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
        let length = ((x1 - x0) * (x1 - x0) + (y1 - y0) * (y1 - y0)).sqrt();
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let cut = (x0 + (x1 - x0) * done / length, y0 + (y1 - y0) * done / length);
            if index % 2 == 0 {
                part.push(cut);
                parts.push(std::mem::take(&mut part));
            } else {
                part = vec![cut];
            }
            index = (index + 1) % dash.len();
            left = dash[index];
        }
        left -= length - done;
        if index % 2 == 0 {
            part.push((x1, y1));
        }
    }
    if part.len() > 1 {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::super::scene::{Rect, Scene};
    use super::*;

    fn decoded(figure: &Figure, scale: f64) -> (Vec<u8>, u32, u32) {
        let bytes = figure.to_png(scale).unwrap();
        let mut reader = png::Decoder::new(bytes.as_slice()).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size()];
        let info = reader.next_frame(&mut pixels).unwrap();
        (pixels, info.width, info.height)
    }

    fn figure(scene: Scene) -> Figure {
        Figure { scene, width: 20.0, height: 10.0, title: String::new(), description: String::new() }
    }

    #[test]
    fn a_filled_rectangle_covers_exactly_its_pixels() {
        let mut scene = Scene::default();
        scene.rect(Rect { x: 2.0, y: 3.0, w: 4.0, h: 2.0 }, Ink::Rgb(10, 20, 30), 1.0);
        let (pixels, w, h) = decoded(&figure(scene), 2.0);
        assert_eq!((w, h), (40, 20));
        for (i, pixel) in pixels.chunks(3).enumerate() {
            let (x, y) = (i as u32 % w, i as u32 / w);
            let inside = (4..12).contains(&x) && (6..10).contains(&y);
            assert_eq!(pixel, if inside { [10, 20, 30] } else { [255; 3] }, "at {x},{y}");
        }
    }

    #[test]
    fn overlapping_segments_of_a_line_never_cancel() {
        let mut scene = Scene::default();
        let zigzag: Vec<P> = (0..200).map(|i| (2.0 + f64::from(i % 2) * 10.0, 5.0)).collect();
        scene.lines(vec![zigzag], Stroke::solid(Ink::Rgb(0, 0, 0), 2.0));
        let (pixels, w, _) = decoded(&figure(scene), 1.0);
        assert_eq!(pixels[(5 * w as usize + 8) * 3], 0);
    }

    #[test]
    fn dashes_cover_their_share_of_a_line() {
        let parts = dashes(&[(0.0, 0.0), (7.0, 0.0), (7.0, 13.0)], &[3.0, 2.0]);
        let length = |part: &Vec<P>| part.windows(2).map(|p| (p[1].0 - p[0].0).abs() + (p[1].1 - p[0].1).abs()).sum::<f64>();
        assert_eq!(parts.len(), 4);
        assert!((parts.iter().map(length).sum::<f64>() - 12.0).abs() < 1e-9);
    }

    #[test]
    fn shapes_outside_the_page_are_cut_off() {
        let mut scene = Scene::default();
        scene.line((-50.0, -50.0), (500.0, 500.0), Stroke::solid(Ink::Text, 3.0));
        scene.rect(Rect { x: 15.0, y: 5.0, w: 1e9, h: 1e9 }, Ink::Text, 1.0);
        assert_eq!(decoded(&figure(scene), 1.0).1, 20);
    }
}
